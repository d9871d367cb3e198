/* Job status for the icon, the row and the filters. */

import { stateLabel } from "@/domain/runState";
import { firstLine } from "@/format/text";
import type { JobView, RunState } from "@/platform";

export type JobHealth =
  | "awaitingApproval"
  | "running"
  | "paused"
  | "triggerDeleted"
  | "failing"
  | "resumed"
  | "incomplete"
  | "healthy"
  | "new";

export function jobHealthOf(
  { job, incident, liveRunIds, isPredecessorMissing }: JobView,
  isAwaitingApproval = false,
): JobHealth {
  if (isAwaitingApproval) return "awaitingApproval";
  if (liveRunIds.length > 0) return "running";
  if (!job.enabled) return "paused";
  if (isPredecessorMissing) return "triggerDeleted";
  if (isFailing({ job, incident })) return "failing";
  return healthAfter(job.state.lastState);
}

function healthAfter(last: RunState | undefined): JobHealth {
  switch (last) {
    case "succeeded":
    case "nothingToReport":
      return "healthy";
    case "skipped":
    case "missed":
    case "cancelled":
    case "interrupted":
      return "incomplete";
    // Resumed after failing; earlier failures no longer count.
    case "failed":
    case "timedOut":
      return "resumed";
    default:
      return "new";
  }
}

export const triggerDeletedLabel = "Its trigger job was deleted";

const labels: Record<Exclude<JobHealth, "incomplete">, string> = {
  awaitingApproval: "Needs you",
  running: "Running",
  paused: "Paused",
  triggerDeleted: triggerDeletedLabel,
  failing: "Failing",
  resumed: "Resumed, not run yet",
  healthy: "Healthy",
  new: "Not run yet",
};

export function healthLabel(health: JobHealth, { job: { state } }: JobView): string {
  if (health !== "incomplete") return labels[health];
  const outcome = `Last run ${stateLabel(state.lastState ?? "skipped").toLocaleLowerCase()}`;
  return state.lastError ? `${outcome}: ${firstLine(state.lastError)}` : outcome;
}

/** Reason of the last unsuccessful slot or run, or the state's label. */
export function lastFailureReason({ lastState, lastError }: JobView["job"]["state"]): string {
  return firstLine(lastError ?? "") || (lastState ? stateLabel(lastState).toLocaleLowerCase() : "");
}

/** True for a slot without a run. */
export function isWithoutRun(state: RunState | undefined): boolean {
  return state === "skipped" || state === "missed";
}

/** True if the job is enabled and failing. */
export function isFailing({ job: { enabled, state }, incident }: Pick<JobView, "job" | "incident">): boolean {
  return enabled && (state.consecutiveFailures > 0 || incident !== null);
}

/** True if a one-time job is overdue. A job that was just enabled has no next slot yet either. */
export function isExpired({ job: { schedule, state }, liveRunIds }: JobView, now = Date.now()): boolean {
  return schedule.kind === "at" && schedule.atMs <= now && state.nextRunAtMs === undefined && liveRunIds.length === 0;
}

/** Label of an expired one-time job. */
export function expiredLabel(last: RunState | undefined): string {
  if (last === undefined) return "Never";
  return healthAfter(last) === "healthy" ? "Done" : stateLabel(last);
}
