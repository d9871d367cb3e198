import { expect, test } from "vitest";

import { aJob, anIncident, noon } from "@/test/fixtures";

import { isExpired, lastFailureReason, expiredLabel, jobHealthOf, healthLabel } from "./jobStatus";

test("most urgent status wins", () => {
  expect(jobHealthOf(aJob({ state: { lastState: "succeeded" } }))).toBe("healthy");
  expect(jobHealthOf(aJob({ state: { lastState: "timedOut", consecutiveFailures: 2 } }))).toBe("failing");
  expect(jobHealthOf(aJob({ enabled: false, state: { lastState: "failed", consecutiveFailures: 1 } }))).toBe("paused");
  expect(jobHealthOf(aJob())).toBe("new");
  expect(jobHealthOf(aJob({ state: { lastState: "succeeded" } }, { incident: anIncident() }))).toBe("failing");
  expect(jobHealthOf(aJob({ enabled: false }, { liveRunIds: ["r"] }))).toBe("running");
  expect(jobHealthOf(aJob({ state: { lastState: "failed", consecutiveFailures: 0 } }))).toBe("resumed");
  expect(jobHealthOf(aJob({}, { liveRunIds: ["r"] }), true)).toBe("awaitingApproval");
});

test.each([
  ["skipped", "Last run skipped"],
  ["missed", "Last run missed"],
  ["cancelled", "Last run cancelled"],
  ["interrupted", "Last run interrupted"],
] as const)("last run %s is not healthy and shows its reason", (lastState, words) => {
  const view = aJob({ state: { lastState, lastError: "Everything was paused" } });
  expect(jobHealthOf(view)).toBe("incomplete");
  expect(healthLabel("incomplete", view)).toBe(`${words}: Everything was paused`);
  expect(healthLabel("incomplete", aJob({ state: { lastState } }))).toBe(words);
});

test("last failure reason falls back to the state", () => {
  expect(lastFailureReason({ ...aJob().job.state, lastState: "skipped", lastError: "Everything was paused" })).toBe(
    "Everything was paused",
  );
  expect(lastFailureReason({ ...aJob().job.state, lastState: "missed" })).toBe("missed");
  expect(lastFailureReason({ ...aJob().job.state, lastState: "cancelled" })).toBe("cancelled");
});

test("expired job is done only after success", () => {
  expect(expiredLabel("succeeded")).toBe("Done");
  expect(expiredLabel("skipped")).toBe("Skipped");
  expect(expiredLabel("missed")).toBe("Missed");
  expect(expiredLabel("failed")).toBe("Failed");
  expect(expiredLabel("timedOut")).toBe("Timed out");
  expect(expiredLabel("interrupted")).toBe("Interrupted");
  expect(expiredLabel(undefined)).toBe("Never");
});

test("one-time job expires after its time without a next slot", () => {
  const once = aJob({ schedule: { kind: "at", atMs: noon } });
  expect(isExpired(once, noon)).toBe(true);
  expect(isExpired(once, noon - 1)).toBe(false);
});
