import { expect, test } from "vitest";

import type { RunState } from "@/platform";
import { aJob, noon } from "@/test/fixtures";

import { onceOver } from "./onceOver";

const once = { kind: "at", atMs: noon } as const;
const later = noon + 60_000;
const after = (lastState: RunState, lastError?: string) => onceOver(aJob({ schedule: once, state: { lastState, lastError } }), later);

test("what became of a job that was to fire once is said as it was", () => {
  expect(after("succeeded")).toMatch(/^It fired on .*21.* at 10:00; it is done\.$/);
  expect(after("nothingToReport")).toMatch(/; it is done\.$/);
  expect(after("failed", "no network")).toMatch(/^It fired on .* at 10:00; its run failed\.$/);
  expect(after("skipped", "Everything was paused")).toMatch(/^It was to fire on .* at 10:00 and was left out: Everything was paused\.$/);
  expect(after("missed")).toMatch(/ and was left out\.$/);
  expect(onceOver(aJob({ schedule: once }, { liveRunIds: ["r"] }), later)).toMatch(/^It fired on .*; its run has not ended yet\.$/);
  expect(onceOver(aJob({ schedule: once, state: { lastState: "succeeded" } }, { zone: "Asia/Tokyo" }), later)).toMatch(/at 19:00, Tokyo time; it is done\.$/);
});

test("of a job whose time is ahead, that has never had one, or that fires again nothing is said", () => {
  expect(onceOver(aJob({ schedule: once, state: { nextRunAtMs: noon } }), noon - 1)).toBeUndefined();
  expect(onceOver(aJob({ schedule: once, state: { lastState: "succeeded" } }), noon - 1), "run by hand before its time").toBeUndefined();
  expect(onceOver(aJob({ schedule: once }), later)).toBeUndefined();
  expect(onceOver(aJob({ state: { lastState: "succeeded" } }), later)).toBeUndefined();
});
