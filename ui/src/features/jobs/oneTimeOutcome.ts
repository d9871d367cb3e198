/* Outcome of a one-time job. Pitfall: the job's state is the state of the newest run, which may be manual; only the slot's run counts. */

import { isLive, stateLabel } from "@/domain/runState";
import { withFullStop, firstLine } from "@/format/text";
import { clock, date, otherZoneName } from "@/format/time";
import type { JobView, RunView, Schedule } from "@/platform";

import { isWithoutRun } from "./jobStatus";

/** Outcome sentence after the scheduled time; undefined for other jobs. `runs` are the newest runs, undefined while
    loading. */
export function oneTimeOutcome(
  { job: { schedule, state }, zone }: JobView,
  runs: readonly RunView[] | undefined,
  now: number,
): string | undefined {
  if (schedule.kind !== "at" || state.nextRunAtMs !== undefined || schedule.atMs > now) return undefined;
  const foreign = otherZoneName(zone ?? undefined);
  const at = `on ${date(schedule.atMs, now, zone ?? undefined)} at ${clock(schedule.atMs, zone ?? undefined)}${foreign === undefined ? "" : `, ${foreign} time`}`;
  if (runs === undefined) return state.lastState === undefined ? undefined : `Scheduled ${at}.`;
  const run = runs.find((one) => isRunOfSlot(one, schedule));
  if (run) return outcomeSentence(run, at);
  return state.lastRunAtMs === undefined || state.lastRunAtMs < schedule.atMs
    ? undefined
    : `Scheduled ${at}; has run since.`;
}

/** The slot may be delayed by jitter; a catch-up run has the original slot. */
function isRunOfSlot(
  { slotAtMs, catchUpSlotAtMs }: RunView,
  { atMs, jitterMs = 0 }: Extract<Schedule, { kind: "at" }>,
): boolean {
  const slot = slotAtMs ?? catchUpSlotAtMs;
  return slot !== null && slot >= atMs && slot <= atMs + jitterMs;
}

function outcomeSentence({ state, reason, error }: RunView, at: string): string {
  if (isLive(state)) return `Fired ${at}; the run is still active.`;
  if (!isWithoutRun(state)) return `Fired ${at}; ${stateLabel(state).toLowerCase()}.`;
  const why = firstLine(error ?? reason ?? "");
  return withFullStop(`${stateLabel(state)} ${at}${why === "" ? "" : `: ${why}`}`);
}
