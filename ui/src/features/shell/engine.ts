/* The engine's state in one line, from what it says about itself. */

import { when } from "@/format/time";
import type { Connection, CronStatus, ShellInfo, SystemStatus } from "@/platform";

export interface EngineState {
  tone: "ready" | "busy" | "paused" | "trouble";
  /** What the text is. */
  lead?: string;
  /** Gives way when there is no room. */
  text: string;
  /** Always seen. */
  tail?: string;
}

/** Whether the engine is heard, and what the app around this page knows of one that is not. */
export type Heard = Connection | "starting" | "failed";

/** `isGone`: it has not been heard of for longer than a blink. */
export function heardOf(connection: Connection, isGone: boolean, place: ShellInfo["engine"] | undefined): Heard {
  if (!isGone) return connection;
  return place === "starting" || place === "failed" ? place : "lost";
}

export function engineState(status: SystemStatus | undefined, heard: Heard, now: number): EngineState {
  if (heard === "lost") return { tone: "trouble", text: "Not connected, trying again" };
  if (heard === "starting") return { tone: "trouble", text: "Starting" };
  if (heard === "failed") return { tone: "trouble", text: "Not running" };
  if (!status) return { tone: "ready", text: "" };
  const { cron, problem, model } = status;
  if (problem !== null) return { tone: "trouble", text: problem };
  if (!cron.enabled) return { tone: "paused", text: "Switched off" };
  const running = cron.running > 0 ? `${cron.running} running` : undefined;
  if (cron.pause) {
    const until = cron.pause.untilMs;
    return { tone: "paused", text: until === null ? "Paused" : `Paused until ${when(until, now)}`, tail: running && `· ${running}` };
  }
  const next = cron.next ? when(cron.next.atMs, now) : undefined;
  if (running !== undefined) return { tone: "busy", text: running, tail: next && `· next ${next}` };
  if (cron.next) return { tone: "ready", lead: "Next:", text: cron.next.name, tail: next };
  return { tone: "ready", text: model === null ? "No model yet" : "Nothing scheduled" };
}

/** How much there is to do: `4 running, 1 waiting for its next attempt, 0 waiting, at most 4 at a time`. */
export function loadWords({ running, betweenAttempts, queued, maxConcurrentRuns }: CronStatus): string {
  const between = betweenAttempts > 0 && `${betweenAttempts} waiting for ${betweenAttempts === 1 ? "its" : "their"} next attempt`;
  return [`${running} running`, between, `${queued} waiting`, `at most ${maxConcurrentRuns} at a time`].filter(Boolean).join(", ");
}

export interface PauseChoice {
  id: string;
  /** Goes on after "Pause". */
  words: string;
  /** When it ends, counted from the press; undefined: not by itself. */
  until: (now: number) => number | undefined;
}

/** How long everything can be paused for, as the tray offers it too. */
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
