import { expect, test } from "vitest";

import { when } from "@/format/time";
import { aStatus, noon } from "@/test/fixtures";

import { engineState, loadLabel, pauseChoices } from "./engineState";

const next = { jobId: "j", name: "Backup", atMs: noon + 4 * 3_600_000 };
const at = when(next.atMs, noon);

test.each([
  ["the next job", aStatus({ cron: { next } }), "open", "ready", "Backup", at],
  ["work before what comes next", aStatus({ cron: { next, running: 2 } }), "open", "busy", "2 running", `· next ${at}`],
  [
    "a pause with its end",
    aStatus({ cron: { next, pause: { untilMs: next.atMs } } }),
    "open",
    "paused",
    `Paused until ${at}`,
    undefined,
  ],
  [
    "a pause without an end, and what still works",
    aStatus({ cron: { pause: { untilMs: null }, running: 1 } }),
    "open",
    "paused",
    "Paused",
    "· 1 running",
  ],
  [
    "the kill switch before everything else",
    aStatus({ cron: { enabled: false, next, pause: { untilMs: null } } }),
    "open",
    "paused",
    "Scheduling off",
    undefined,
  ],
  ["no model when nothing is scheduled", aStatus(), "open", "ready", "No model yet", undefined],
  ["an empty schedule", aStatus({ model: "llama3.2" }), "open", "ready", "Nothing scheduled", undefined],
  [
    "trouble that concerns everything",
    aStatus({ problem: "The disk is full.", cron: { next } }),
    "open",
    "trouble",
    "The disk is full.",
    undefined,
  ],
  [
    "a lost connection before what was last known",
    aStatus({ cron: { next } }),
    "lost",
    "trouble",
    "Not connected, retrying",
    undefined,
  ],
  [
    "that the engine is not there yet, before what was last known",
    aStatus({ cron: { next } }),
    "starting",
    "trouble",
    "Starting",
    undefined,
  ],
  [
    "that the engine is not there any more, before what was last known",
    aStatus({ cron: { next } }),
    "failed",
    "trouble",
    "Not running",
    undefined,
  ],
  ["nothing while nothing is known", undefined, "open", "ready", "", undefined],
] as const)("engine line shows %s", (_what, status, connection, tone, text, tail) => {
  expect(engineState(status, connection, noon)).toMatchObject({ tone, text, ...(tail !== undefined && { tail }) });
});

test("next job is labeled", () => {
  expect(engineState(aStatus({ cron: { next } }), "open", noon).lead).toBe("Next:");
});

test("runs between attempts do not look busy", () => {
  const { cron } = aStatus({ cron: { running: 4, betweenAttempts: 5, queued: 1, maxConcurrentRuns: 4 } });
  expect(loadLabel(cron)).toBe("4 running, 5 waiting to retry, 1 queued, limit 4");
  expect(loadLabel({ ...cron, betweenAttempts: 1 })).toBe("4 running, 1 waiting to retry, 1 queued, limit 4");
  expect(loadLabel({ ...cron, betweenAttempts: 0 })).toBe("4 running, 1 queued, limit 4");
  expect(engineState(aStatus({ cron: { betweenAttempts: 5 } }), "open", noon).tone).toBe("ready");
});

test("pauses count from the press and tomorrow is the morning", () => {
  const [quarter, hour, tomorrow, open] = pauseChoices.map(({ until }) => until(noon));
  expect(quarter).toBe(noon + 900_000);
  expect(hour).toBe(noon + 3_600_000);
  expect(new Date(tomorrow ?? 0).getHours()).toBe(8);
  expect(new Date(tomorrow ?? 0).getDate()).toBe(new Date(noon).getDate() + 1);
  expect(open).toBeUndefined();
});
