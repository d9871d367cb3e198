/* Predicts whether a slot is skipped. A slot at the very end of a pause fires. */

import { when } from "@/format/time";
import type { CronStatus, PauseView } from "@/platform";

/** Reason for skipping a slot; undefined if the slot fires. */
export function skipReason(cron: CronStatus | undefined, atMs: number): string | undefined {
  if (cron === undefined) return undefined;
  if (!cron.enabled) return "off";
  return cron.pause !== null && atMs < (cron.pause.untilMs ?? Infinity) ? "paused" : undefined;
}

/** Label shown in place of the time. */
export function skipLabel(cron: CronStatus | undefined, atMs: number): string | undefined {
  const why = skipReason(cron, atMs);
  return why === undefined ? undefined : `skipped: ${why}`;
}

export function pauseMessage({ untilMs }: PauseView, now: number): string {
  return `All jobs are paused until ${untilMs === null ? "you resume them" : when(untilMs, now)}. Runs due before then are skipped.`;
}
