/* Where the rows of the list stand. The engine has the soonest first, so that a job which is paused or resumed would be thrown
   away from under the eyes of who did it, often hundreds of rows far. It stays where it is until the list is opened anew; what
   moves for another reason, such as a job that has fired, moves as the engine says. */

import { useState } from "react";

import type { JobView } from "@/platform";

interface Places {
  /** The jobs as the engine has ordered them. */
  from: readonly JobView[];
  /** The same as they are shown. */
  shown: JobView[];
  /** Those that were paused or resumed since the list was opened, by id. */
  held: ReadonlySet<string>;
}

/** The jobs in the places in which they are shown while the list is open. */
export function usePlaces(jobs: readonly JobView[]): JobView[] {
  const [places, setPlaces] = useState<Places>(() => ({ from: jobs, shown: [...jobs], held: new Set() }));
  if (places.from === jobs) return places.shown;
  const next = placed(places, jobs);
  setPlaces(next);
  return next.shown;
}

export function placed(before: Places, jobs: readonly JobView[]): Places {
  const was = new Map(before.shown.map(({ job }) => [job.id, job.enabled]));
  const switched = jobs.filter(({ job }) => was.has(job.id) && was.get(job.id) !== job.enabled).map(({ job }) => job.id);
  const held = switched.length === 0 ? before.held : new Set([...before.held, ...switched]);
  return { from: jobs, shown: held.size === 0 ? [...jobs] : inPlace(before.shown, jobs, held), held };
}

/** Each of those that are held has as many others above it as before, whichever of them these are now; new ones do not count. */
function inPlace(before: readonly JobView[], jobs: readonly JobView[], held: ReadonlySet<string>): JobView[] {
  const now = new Map(jobs.map((view) => [view.job.id, view]));
  const stays = new Map<number, JobView[]>();
  const others = new Set<string>();
  for (const { job: { id } } of before) {
    const view = now.get(id);
    if (view === undefined) continue;
    if (held.has(id)) stays.set(others.size, [...(stays.get(others.size) ?? []), view]);
    else others.add(id);
  }
  const shown = [...(stays.get(0) ?? [])];
  let above = 0;
  for (const view of jobs) {
    if (others.has(view.job.id)) shown.push(view, ...(stays.get((above += 1)) ?? []));
    else if (!held.has(view.job.id)) shown.push(view);
  }
  return shown;
}
