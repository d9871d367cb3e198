/* Whether what comes next fires as things stand, as the engine decides it: a slot that comes before the end of a pause is left
   out, the one at its very end fires. */

import { when } from "@/format/time";
import type { CronStatus, Pause } from "@/platform";

/** Why a slot at this time is left out as things stand, in a word; nothing when it fires. */
export function leftOutBecause(cron: CronStatus | undefined, atMs: number): string | undefined {
  if (cron === undefined) return undefined;
  if (!cron.enabled) return "off";
  return cron.pause !== null && atMs < (cron.pause.untilMs ?? Infinity) ? "paused" : undefined;
}

/** The same where the time of that slot would stand. */
export function leftOutWords(cron: CronStatus | undefined, atMs: number): string | undefined {
  const why = leftOutBecause(cron, atMs);
  return why === undefined ? undefined : `left out: ${why}`;
}

/** How long everything is paused, and what that means. */
export function pauseWords({ untilMs }: Pause, now: number): string {
  return `Everything is paused until ${untilMs === null ? "you resume it" : when(untilMs, now)}. What comes before that is left out.`;
}
