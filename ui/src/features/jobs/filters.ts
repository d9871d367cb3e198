/* Which jobs the list shows. */

import type { JobView } from "@/platform";

import type { JobsSearch } from "./search";
import { isFailing, isOver } from "./standing";

export type JobFilter = NonNullable<JobsSearch["filter"]> | "all";

const passes: Record<JobFilter, (view: JobView) => boolean> = {
  all: () => true,
  active: (view) => view.job.enabled && !isOver(view),
  paused: ({ job }) => !job.enabled,
  failing: ({ job, incident }) => isFailing({ job, incident }) || (incident?.pausedBecause ?? null) !== null,
};

/** Jobs that pass the filter and have every word somewhere in name, description or schedule. */
export function filterJobs(jobs: readonly JobView[], { filter, q = "" }: JobsSearch): JobView[] {
  const words = q.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return jobs.filter((view) => passes[filter ?? "all"](view) && words.every((word) => said(view).includes(word)));
}

export function countJobs(jobs: readonly JobView[]): Record<JobFilter, number> {
  const count = (filter: JobFilter) => jobs.filter(passes[filter]).length;
  return { all: jobs.length, active: count("active"), paused: count("paused"), failing: count("failing") };
}

/** Made once a job: ten thousand texts take longer than a keystroke may. */
const texts = new WeakMap<JobView, string>();

function said(view: JobView): string {
  let text = texts.get(view);
  if (text === undefined) {
    text = `${view.job.name} ${view.job.description ?? ""} ${view.scheduleText} ${view.zone?.replaceAll("_", " ") ?? ""}`.toLocaleLowerCase();
    texts.set(view, text);
  }
  return text;
}
