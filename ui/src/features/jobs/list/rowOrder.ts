/* Row order of the job list. The engine sorts disabled jobs last; here a job keeps the row while the list is open after being enabled, disabled, expired or paused for failures. */

import { useState } from "react";

import type { JobView } from "@/platform";

interface RowOrder {
  /** Engine order. */
  from: readonly JobView[];
  /** Displayed order. */
  shown: JobView[];
  /** Ids of jobs enabled or disabled since the list was opened. */
  held: ReadonlySet<string>;
}

/** Jobs in displayed order. */
export function useRowOrder(jobs: readonly JobView[]): JobView[] {
  const [places, setPlaces] = useState<RowOrder>(() => ({ from: jobs, shown: [...jobs], held: new Set() }));
  if (places.from === jobs) return places.shown;
  const next = nextOrder(places, jobs);
  setPlaces(next);
  return next.shown;
}

export function nextOrder(before: RowOrder, jobs: readonly JobView[]): RowOrder {
  const was = new Map(before.shown.map(({ job }) => [job.id, job.enabled]));
  const switched = jobs
    .filter(({ job }) => was.has(job.id) && was.get(job.id) !== job.enabled)
    .map(({ job }) => job.id);
  const held = switched.length === 0 ? before.held : new Set([...before.held, ...switched]);
  return { from: jobs, shown: held.size === 0 ? [...jobs] : keepPositions(before.shown, jobs, held), held };
}

/** Held jobs keep the number of other jobs above. New jobs do not count. */
function keepPositions(before: readonly JobView[], jobs: readonly JobView[], held: ReadonlySet<string>): JobView[] {
  const now = new Map(jobs.map((view) => [view.job.id, view]));
  const stays = new Map<number, JobView[]>();
  const others = new Set<string>();
  const staying = new Set<string>();
  for (const {
    job: { id },
  } of before) {
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
