/* Which jobs the list shows. */

import type { JobView } from "@/platform";

import type { JobsSearch } from "./search";

export type JobFilter = NonNullable<JobsSearch["filter"]> | "all";

/** Where a job stands, for its dot and the filters. */
export type Standing = "asking" | "running" | "paused" | "stranded" | "failing" | "resumed" | "well" | "new";

export function standingOf({ job, incident, liveRunIds, predecessorIsGone }: JobView, isAsking = false): Standing {
  if (isAsking) return "asking";
  if (liveRunIds.length > 0) return "running";
  if (!job.enabled) return "paused";
  if (predecessorIsGone) return "stranded";
  if (isFailing({ job, incident })) return "failing";
  // Somebody has switched it on again: what it did before says nothing about it now.
  if (job.state.lastState === "failed" || job.state.lastState === "timedOut") return "resumed";
  return job.state.lastState === undefined ? "new" : "well";
}

/** Its runs fail, or nobody can check what they find, as the engine counts them. */
function isFailing({ job: { enabled, state }, incident }: Pick<JobView, "job" | "incident">): boolean {
  return enabled && (state.consecutiveFailures > 0 || incident !== null);
}

const passes: Record<JobFilter, (view: JobView) => boolean> = {
  all: () => true,
  active: ({ job }) => job.enabled,
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
