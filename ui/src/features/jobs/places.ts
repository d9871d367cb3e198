/* Where the rows of the list stand. The engine has the soonest first, and those that are off last, so that a job which is paused
   or resumed would be thrown away from under the eyes of who did it, often hundreds of rows far. A job that was switched on or
   off, whoever did it, stays where it is until the list is opened anew: so does one that fired for its one time, or that the
   engine has paused after failures. What moves for another reason, such as a job that has fired and will again, moves as the
   engine says. */

import { useState } from "react";

import type { JobView } from "@/platform";

interface Places {
  /** The jobs as the engine has ordered them. */
  from: readonly JobView[];
  /** The same as they are shown. */
  shown: JobView[];
  /** Those that were switched on or off since the list was opened, by id. */
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

/** Each of those that are held has as many others above it as before, whichever of them these are now; new ones do not count.
    One that comes back after it was gone is a new one. */
function inPlace(before: readonly JobView[], jobs: readonly JobView[], held: ReadonlySet<string>): JobView[] {
  const now = new Map(jobs.map((view) => [view.job.id, view]));
  const stays = new Map<number, JobView[]>();
  const others = new Set<string>();
  const staying = new Set<string>();
  for (const { job: { id } } of before) {
    const view = now.get(id);
    if (view === undefined) continue;
    if (held.has(id)) {
      stays.set(others.size, [...(stays.get(others.size) ?? []), view]);
      staying.add(id);
    } else others.add(id);
  }
  const shown = [...(stays.get(0) ?? [])];
  let above = 0;
  for (const view of jobs) {
    if (others.has(view.job.id)) shown.push(view, ...(stays.get((above += 1)) ?? []));
    else if (!staying.has(view.job.id)) shown.push(view);
  }
  return shown;
}
