/* Engine state on one line. */

import { when } from "@/format/time";
import type { Connection, CronStatus, ShellInfo, SystemStatus } from "@/platform";

export interface EngineState {
  tone: "ready" | "busy" | "paused" | "trouble";
  /** Prefix of the text. */
  lead?: string;
  /** Truncated if narrow. */
  text: string;
  /** Never truncated. */
  tail?: string;
}

/** Connection to the engine, with the app's reason for a missing engine. */
export type EngineConnection = Connection | "starting" | "failed";

/** `isGone`: lost beyond the grace period. */
export function engineConnection(
  connection: Connection,
  isGone: boolean,
  place: ShellInfo["engine"] | undefined,
): EngineConnection {
  if (!isGone) return connection;
  return place === "starting" || place === "failed" ? place : "lost";
}

export function engineState(status: SystemStatus | undefined, connection: EngineConnection, now: number): EngineState {
  if (connection === "lost") return { tone: "trouble", text: "Not connected, retrying" };
  if (connection === "starting") return { tone: "trouble", text: "Starting" };
  if (connection === "failed") return { tone: "trouble", text: "Not running" };
  if (!status) return { tone: "ready", text: "" };
  const { cron, problem, model } = status;
  if (problem !== null) return { tone: "trouble", text: problem };
  if (!cron.enabled) return { tone: "paused", text: "Scheduling off" };
  const running = cron.running > 0 ? `${cron.running} running` : undefined;
  if (cron.pause) {
    const until = cron.pause.untilMs;
    return {
      tone: "paused",
      text: until === null ? "Paused" : `Paused until ${when(until, now)}`,
      tail: running && `· ${running}`,
    };
  }
  const next = cron.next ? when(cron.next.atMs, now) : undefined;
  if (running !== undefined) return { tone: "busy", text: running, tail: next && `· next ${next}` };
  if (cron.next) return { tone: "ready", lead: "Next:", text: cron.next.name, tail: next };
  return { tone: "ready", text: model === null ? "No model yet" : "Nothing scheduled" };
}

/** `4 running, 1 waiting to retry, 0 queued, limit 4`. */
export function loadLabel({ running, betweenAttempts, queued, maxConcurrentRuns }: CronStatus): string {
  const between = betweenAttempts > 0 && `${betweenAttempts} waiting to retry`;
  return [`${running} running`, between, `${queued} queued`, `limit ${maxConcurrentRuns}`].filter(Boolean).join(", ");
}

export interface PauseChoice {
  id: string;
  /** Continues “Pause”. */
  words: string;
  /** End of the pause; undefined for no end. */
  until: (now: number) => number | undefined;
}

/** Pause durations, as in the tray. */
export const pauseChoices: readonly PauseChoice[] = [
  { id: "15m", words: "for 15 minutes", until: (now) => now + 15 * 60_000 },
  { id: "1h", words: "for 1 hour", until: (now) => now + 60 * 60_000 },
  { id: "tomorrow", words: "until tomorrow 08:00", until: nextMorning },
  { id: "resumed", words: "until resumed", until: () => undefined },
];

function nextMorning(now: number): number {
  const morning = new Date(now);
  morning.setDate(morning.getDate() + 1);
  return morning.setHours(8, 0, 0, 0);
}
