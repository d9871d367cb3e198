/* What became of a job that was to fire once. Of its schedule alone the engine can only say that it never fires, which is
   wrong of a job that has. One could get it wrong by the state of the job, which is that of its newest run: a person may have
   run it by hand, before its time or after it. So only the run of its time says what became of that. */

import { isLive } from "@/domain/runState";
import { ended, firstLine } from "@/format/text";
import { clock, date, foreignZone } from "@/format/time";
import type { JobView, RunState, RunView, Schedule } from "@/platform";

import { neverBegan } from "./standing";

const ends: Partial<Record<RunState, string>> = {
  failed: "its run failed",
  timedOut: "its run timed out",
  cancelled: "its run was cancelled",
  interrupted: "its run was interrupted",
};

/** As a sentence, once its time is behind it; nothing of any other job, and of one that has never had its time. `runs` are its
    newest ones; until they are known, and where the one of its time is not among them, nothing is claimed of that. */
export function onceOver({ job: { schedule, state }, zone }: JobView, runs: readonly RunView[] | undefined, now: number): string | undefined {
  if (schedule.kind !== "at" || state.nextRunAtMs !== undefined || schedule.atMs > now) return undefined;
  const foreign = foreignZone(zone ?? undefined);
  const at = `on ${date(schedule.atMs, now, zone ?? undefined)} at ${clock(schedule.atMs, zone ?? undefined)}${foreign === undefined ? "" : `, ${foreign} time`}`;
  if (runs === undefined) return state.lastState === undefined ? undefined : `Its time was ${at}.`;
  const run = runs.find((one) => isOfItsTime(one, schedule));
  if (run) return fateOf(run, at);
  return state.lastRunAtMs === undefined || state.lastRunAtMs < schedule.atMs ? undefined : `Its time was ${at}; it has run since.`;
}

/** Its slot may lie off its time by the jitter; a run that makes up for one that was cut off has the slot of that. */
function isOfItsTime({ slotAtMs, makesUpForMs }: RunView, { atMs, jitterMs = 0 }: Extract<Schedule, { kind: "at" }>): boolean {
  const slot = slotAtMs ?? makesUpForMs;
  return slot !== null && slot >= atMs && slot <= atMs + jitterMs;
}

function fateOf({ state, reason, error }: RunView, at: string): string {
  if (isLive(state)) return `It fired ${at}; its run has not ended yet.`;
  if (!neverBegan(state)) return `It fired ${at}; ${ends[state] ?? "it is done"}.`;
  const why = firstLine(error ?? reason ?? "");
  return ended(`It was to fire ${at} and was left out${why === "" ? "" : `: ${why}`}`);
}
