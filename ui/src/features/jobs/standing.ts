/* Where a job stands, for its dot, its row and the filters: what it does now, or how it went last. */

import { stateWord } from "@/domain/runState";
import { firstLine } from "@/format/text";
import type { JobView, RunState } from "@/platform";

export type Standing = "asking" | "running" | "paused" | "stranded" | "failing" | "resumed" | "leftOut" | "well" | "new";

export function standingOf({ job, incident, liveRunIds, predecessorIsGone }: JobView, isAsking = false): Standing {
  if (isAsking) return "asking";
  if (liveRunIds.length > 0) return "running";
  if (!job.enabled) return "paused";
  if (predecessorIsGone) return "stranded";
  if (isFailing({ job, incident })) return "failing";
  return standingAfter(job.state.lastState);
}

function standingAfter(last: RunState | undefined): Standing {
  switch (last) {
    case "succeeded":
    case "nothingToReport":
      return "well";
    case "skipped":
    case "missed":
    case "cancelled":
    case "interrupted":
      return "leftOut";
    // Somebody has switched it on again: what it did before says nothing about it now.
    case "failed":
    case "timedOut":
      return "resumed";
    default:
      return "new";
  }
}

export const strandedWords = "The job it waits for is gone";

const words: Record<Exclude<Standing, "leftOut">, string> = {
  asking: "Needs you", running: "Running", paused: "Paused", stranded: strandedWords, failing: "Failing",
  resumed: "On again; it has not run since", well: "Going well", new: "Has not run yet",
};

export function standingWords(standing: Standing, { job: { state } }: JobView): string {
  return standing === "leftOut" ? leftOutWords(state) : words[standing];
}

/** `Last time left out: Everything was paused`, with the reason where it is known. */
function leftOutWords(state: JobView["job"]["state"]): string {
  const what = neverBegan(state.lastState) ? "Last time left out" : `Last run ${leftOutWord(state)}`;
  const why = firstLine(state.lastError ?? "");
  return why === "" ? what : `${what}: ${why}`;
}

/** The reason alone, where it stands beside other words; what it was where there is none. */
export function leftOutReason(state: JobView["job"]["state"]): string {
  return firstLine(state.lastError ?? "") || leftOutWord(state);
}

function leftOutWord({ lastState }: JobView["job"]["state"]): string {
  return lastState === undefined || neverBegan(lastState) ? "left out" : stateWord(lastState).toLocaleLowerCase();
}

/** Whether there was no run at all, only a slot. */
export function neverBegan(state: RunState | undefined): boolean {
  return state === "skipped" || state === "missed";
}

/** Its runs fail, or nobody can check what they find, as the engine counts them. */
export function isFailing({ job: { enabled, state }, incident }: Pick<JobView, "job" | "incident">): boolean {
  return enabled && (state.consecutiveFailures > 0 || incident !== null);
}

/** Whether it was to fire once and its time is behind it, so that nothing more comes of it. One that was only just switched on has
    no next time either until the engine has said it. */
export function isOver({ job: { schedule, state }, liveRunIds }: JobView, now = Date.now()): boolean {
  return schedule.kind === "at" && schedule.atMs <= now && state.nextRunAtMs === undefined && liveRunIds.length === 0;
}

/** What became of a job that is over, in a word: only one that went well is done. */
export function overWord(last: RunState | undefined): string {
  if (last === undefined) return "Never";
  if (neverBegan(last)) return "Left out";
  return standingAfter(last) === "well" ? "Done" : stateWord(last);
}
