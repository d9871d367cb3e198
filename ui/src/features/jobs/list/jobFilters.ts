/* Job list filters. */

import type { JobView } from "@/platform";

import type { JobsSearch } from "@/features/jobs/searchParams";
import { isFailing, isExpired } from "@/features/jobs/jobStatus";

export type JobFilter = NonNullable<JobsSearch["filter"]> | "all";

const predicates: Record<JobFilter, (view: JobView) => boolean> = {
  all: () => true,
  active: (view) => view.job.enabled && !isExpired(view),
  paused: ({ job }) => !job.enabled,
  failing: ({ job, incident }) => isFailing({ job, incident }) || (incident?.pausedBecause ?? null) !== null,
};

/** Jobs that pass the filter and contain every search word. */
export function filterJobs(jobs: readonly JobView[], { filter, q = "" }: JobsSearch): JobView[] {
  const words = q.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return jobs.filter(
    (view) => predicates[filter ?? "all"](view) && words.every((word) => searchText(view).includes(word)),
  );
}

export function countJobs(jobs: readonly JobView[]): Record<JobFilter, number> {
  const count = (filter: JobFilter) => jobs.filter(predicates[filter]).length;
  return { all: jobs.length, active: count("active"), paused: count("paused"), failing: count("failing") };
}

/** Cached: 10,000 texts take longer than a keystroke. */
const searchTexts = new WeakMap<JobView, string>();

function searchText(view: JobView): string {
  let text = searchTexts.get(view);
  if (text === undefined) {
    text =
      `${view.job.name} ${view.job.description ?? ""} ${view.scheduleText} ${view.zone?.replaceAll("_", " ") ?? ""}`.toLocaleLowerCase();
    searchTexts.set(view, text);
  }
  return text;
}
