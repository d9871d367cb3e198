/* What became of a job that was to fire once. Of its schedule alone the engine can only say that it never fires, which is
   wrong of a job that has. */

import { ended, firstLine } from "@/format/text";
import { clock, date, foreignZone } from "@/format/time";
import type { JobView, RunState } from "@/platform";

import { neverBegan } from "./standing";

const ends: Partial<Record<RunState, string>> = {
  failed: "its run failed",
  timedOut: "its run timed out",
  cancelled: "its run was cancelled",
  interrupted: "its run was interrupted",
};

/** As a sentence, once its time is behind it; nothing of any other job, and of one that has never had its time. */
export function onceOver({ job: { schedule, state }, zone, liveRunIds }: JobView, now: number): string | undefined {
  if (schedule.kind !== "at" || state.nextRunAtMs !== undefined || schedule.atMs > now) return undefined;
  const foreign = foreignZone(zone ?? undefined);
  const at = `on ${date(schedule.atMs, now, zone ?? undefined)} at ${clock(schedule.atMs, zone ?? undefined)}${foreign === undefined ? "" : `, ${foreign} time`}`;
  if (liveRunIds.length > 0) return `It fired ${at}; its run has not ended yet.`;
  if (state.lastState === undefined) return undefined;
  if (!neverBegan(state.lastState)) return `It fired ${at}; ${ends[state.lastState] ?? "it is done"}.`;
  const why = firstLine(state.lastError ?? "");
  return ended(`It was to fire ${at} and was left out${why === "" ? "" : `: ${why}`}`);
}
