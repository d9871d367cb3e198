import { expect, test } from "vitest";

import type { JobView, RunView } from "@/platform";
import { aJob, aRun, noon } from "@/test/fixtures";

import { onceOver } from "./onceOver";

const once = { kind: "at", atMs: noon } as const;
const later = noon + 60_000;
const after = (run: Partial<RunView>, view: Partial<JobView> = {}) => onceOver({ ...aJob({ schedule: once }), ...view }, [aRun(run)], later);
const byHand = aRun({ id: "hand", slotAtMs: null, trigger: "manual" });

test("what became of a job that was to fire once is said as it was", () => {
  expect(after({})).toMatch(/^It fired on .*21.* at 10:00; it is done\.$/);
  expect(after({ state: "nothingToReport" })).toMatch(/; it is done\.$/);
  expect(after({ state: "failed", error: "no network" })).toMatch(/^It fired on .* at 10:00; its run failed\.$/);
  expect(after({ state: "skipped", reason: "Everything was paused" })).toMatch(/^It was to fire on .* at 10:00 and was left out: Everything was paused\.$/);
  expect(after({ state: "missed" })).toMatch(/ and was left out\.$/);
  expect(after({ state: "running" })).toMatch(/^It fired on .*; its run has not ended yet\.$/);
  expect(after({}, { zone: "Asia/Tokyo" })).toMatch(/at 19:00, Tokyo time; it is done\.$/);
  expect(onceOver(aJob({ schedule: { ...once, jitterMs: 5_000 } }), [aRun({ slotAtMs: noon + 3_000 })], later)).toMatch(/; it is done\.$/);
  const madeUp = aRun({ trigger: "catchUp", slotAtMs: null, makesUpForMs: noon });
  expect(onceOver(aJob({ schedule: once }), [madeUp, aRun({ state: "interrupted" })], later)).toMatch(/; it is done\.$/);
});

test("a run by hand is not that of its time", () => {
  const view = aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon - 60_000 } });
  expect(onceOver(view, [byHand], later), "switched off before its time").toBeUndefined();
  const leftOut = aRun({ state: "skipped", reason: "Everything was paused" });
  expect(onceOver(aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon + 30_000 } }), [byHand, leftOut], later)).toMatch(/ and was left out: Everything was paused\.$/);
});

test("where the run of its time is not known nothing is claimed of it", () => {
  const view = aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon + 30_000 } });
  expect(onceOver(view, [byHand], later)).toMatch(/^Its time was on .*21.* at 10:00; it has run since\.$/);
  expect(onceOver(view, [byHand, aRun({ slotAtMs: noon - 86_400_000 })], later), "a run of a time that it had before").toMatch(/^Its time was /);
  expect(onceOver(view, undefined, later), "the runs are being read").toMatch(/^Its time was on .*21.* at 10:00\.$/);
});

test("of a job whose time is ahead, that has never had one, or that fires again nothing is said", () => {
  expect(onceOver(aJob({ schedule: once, state: { nextRunAtMs: noon } }), [], noon - 1)).toBeUndefined();
  expect(onceOver(aJob({ schedule: once, state: { lastState: "succeeded" } }), [byHand], noon - 1), "run by hand before its time").toBeUndefined();
  expect(onceOver(aJob({ schedule: once }), [], later)).toBeUndefined();
  expect(onceOver(aJob({ schedule: once }), undefined, later)).toBeUndefined();
  expect(onceOver(aJob({ state: { lastState: "succeeded" } }), [aRun()], later)).toBeUndefined();
});
