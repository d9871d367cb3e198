/* URL parameters of the run list. */

import { runStates } from "@/domain/runState";
import { runTriggers } from "@/domain/labels";
import type { RunsListParams, RunState, RunTrigger } from "@/platform";

export const times = ["today", "week", "month"] as const;
export type RunTimeFilter = (typeof times)[number];

export interface RunsSearch {
  job?: string;
  state?: RunState[];
  trigger?: RunTrigger;
  time?: RunTimeFilter;
  q?: string;
  /** Runs of a digest notification. */
  digest?: string;
}

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const requested = Array.isArray(search.state) ? search.state : [search.state];
  const state = runStates.filter((known) => requested.includes(known));
  const trigger = runTriggers.find((known) => known === search.trigger);
  const time = times.find((known) => known === search.time);
  return {
    ...(typeof search.job === "string" && search.job !== "" && { job: search.job }),
    ...(state.length > 0 && { state }),
    ...(trigger && { trigger }),
    ...(time && { time }),
    ...(typeof search.digest === "string" && search.digest !== "" && { digest: search.digest }),
    ...(typeof search.q === "string" && search.q.trim() !== "" && { q: search.q }),
  };
}

/** Gateway filter. Days begin at local midnight. */
export function toParams(search: RunsSearch, now: number): RunsListParams {
  return {
    ...(search.job !== undefined && { jobId: search.job }),
    ...(search.state && { states: search.state }),
    ...(search.trigger && { triggers: [search.trigger] }),
    ...(search.time && { fromMs: beginOf(search.time, now) }),
    ...(search.digest !== undefined && { digest: search.digest }),
    ...(search.q !== undefined && { search: search.q.trim() }),
  };
}

function beginOf(time: RunTimeFilter, now: number): number {
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  midnight.setDate(midnight.getDate() - { today: 0, week: 6, month: 29 }[time]);
  return midnight.getTime();
}
