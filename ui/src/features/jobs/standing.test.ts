import { expect, test } from "vitest";

import { aJob, anIncident, noon } from "@/test/fixtures";

import { isOver, leftOutReason, overWord, standingOf, standingWords } from "./standing";

test("a dot tells the most urgent thing", () => {
  expect(standingOf(aJob({ state: { lastState: "succeeded" } }))).toBe("well");
  expect(standingOf(aJob({ state: { lastState: "timedOut", consecutiveFailures: 2 } }))).toBe("failing");
  expect(standingOf(aJob({ enabled: false, state: { lastState: "failed", consecutiveFailures: 1 } }))).toBe("paused");
  expect(standingOf(aJob())).toBe("new");
  expect(standingOf(aJob({ state: { lastState: "succeeded" } }, { incident: anIncident() }))).toBe("failing");
  expect(standingOf(aJob({ enabled: false }, { liveRunIds: ["r"] }))).toBe("running");
  expect(standingOf(aJob({ state: { lastState: "failed", consecutiveFailures: 0 } }))).toBe("resumed");
  expect(standingOf(aJob({}, { liveRunIds: ["r"] }), true)).toBe("asking");
});

test.each([
  ["skipped", "Last time left out"],
  ["missed", "Last time left out"],
  ["cancelled", "Last run cancelled"],
  ["interrupted", "Last run interrupted"],
] as const)("a job whose last run was %s does not go well, and says why where it is known", (lastState, words) => {
  const view = aJob({ state: { lastState, lastError: "Everything was paused" } });
  expect(standingOf(view)).toBe("leftOut");
  expect(standingWords("leftOut", view)).toBe(`${words}: Everything was paused`);
  expect(standingWords("leftOut", aJob({ state: { lastState } }))).toBe(words);
});

test("beside its schedule the reason stands alone, and where there is none, what it was", () => {
  expect(leftOutReason({ ...aJob().job.state, lastState: "skipped", lastError: "Everything was paused" })).toBe("Everything was paused");
  expect(leftOutReason({ ...aJob().job.state, lastState: "missed" })).toBe("left out");
  expect(leftOutReason({ ...aJob().job.state, lastState: "cancelled" })).toBe("cancelled");
});

test("a job that fired once is done; one whose time was left out, or whose run failed, is not", () => {
  expect(overWord("succeeded")).toBe("Done");
  expect(overWord("skipped")).toBe("Left out");
  expect(overWord("missed")).toBe("Left out");
  expect(overWord("failed")).toBe("Failed");
  expect(overWord("timedOut")).toBe("Timed out");
  expect(overWord("interrupted")).toBe("Interrupted");
  expect(overWord(undefined)).toBe("Never");
});

test("a job that fires once is over when its time is behind it, not while the engine has yet to say when it comes", () => {
  const once = aJob({ schedule: { kind: "at", atMs: noon } });
  expect(isOver(once, noon)).toBe(true);
  expect(isOver(once, noon - 1)).toBe(false);
});
