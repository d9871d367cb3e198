import { expect, test } from "vitest";

import type { JobView, RunView } from "@/platform";
import { aJob, aRun, noon } from "@/test/fixtures";

import { oneTimeOutcome } from "./oneTimeOutcome";

const once = { kind: "at", atMs: noon } as const;
const later = noon + 60_000;
const after = (run: Partial<RunView>, view: Partial<JobView> = {}) =>
  oneTimeOutcome({ ...aJob({ schedule: once }), ...view }, [aRun(run)], later);
const byHand = aRun({ id: "hand", slotAtMs: null, trigger: "manual" });

test("one-time outcome describes the run of its slot", () => {
  expect(after({})).toMatch(/^Fired on .*21.* at 10:00; succeeded\.$/);
  expect(after({ state: "nothingToReport" })).toMatch(/; nothing to report\.$/);
  expect(after({ state: "failed", error: "no network" })).toMatch(/^Fired on .* at 10:00; failed\.$/);
  expect(after({ state: "skipped", reason: "Everything was paused" })).toMatch(
    /^Skipped on .* at 10:00: Everything was paused\.$/,
  );
  expect(after({ state: "missed" })).toMatch(/^Missed on .* at 10:00\.$/);
  expect(after({ state: "running" })).toMatch(/^Fired on .*; the run is still active\.$/);
  expect(after({}, { zone: "Asia/Tokyo" })).toMatch(/at 19:00, Tokyo time; succeeded\.$/);
  expect(
    oneTimeOutcome(aJob({ schedule: { ...once, jitterMs: 5_000 } }), [aRun({ slotAtMs: noon + 3_000 })], later),
  ).toMatch(/; succeeded\.$/);
  const madeUp = aRun({ trigger: "catchUp", slotAtMs: null, catchUpSlotAtMs: noon });
  expect(oneTimeOutcome(aJob({ schedule: once }), [madeUp, aRun({ state: "interrupted" })], later)).toMatch(
    /; succeeded\.$/,
  );
});

test("manual run is not the run of the slot", () => {
  const view = aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon - 60_000 } });
  expect(oneTimeOutcome(view, [byHand], later), "switched off before its time").toBeUndefined();
  const leftOut = aRun({ state: "skipped", reason: "Everything was paused" });
  expect(
    oneTimeOutcome(
      aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon + 30_000 } }),
      [byHand, leftOut],
      later,
    ),
  ).toMatch(/^Skipped on .*: Everything was paused\.$/);
});

test("unknown slot run claims nothing", () => {
  const view = aJob({ schedule: once, state: { lastState: "succeeded", lastRunAtMs: noon + 30_000 } });
  expect(oneTimeOutcome(view, [byHand], later)).toMatch(/^Scheduled on .*21.* at 10:00; has run since\.$/);
  expect(
    oneTimeOutcome(view, [byHand, aRun({ slotAtMs: noon - 86_400_000 })], later),
    "a run of a time that it had before",
  ).toMatch(/^Scheduled on /);
  expect(oneTimeOutcome(view, undefined, later), "the runs are being read").toMatch(/^Scheduled on .*21.* at 10:00\.$/);
});

test("other jobs have no one-time outcome", () => {
  expect(oneTimeOutcome(aJob({ schedule: once, state: { nextRunAtMs: noon } }), [], noon - 1)).toBeUndefined();
  expect(
    oneTimeOutcome(aJob({ schedule: once, state: { lastState: "succeeded" } }), [byHand], noon - 1),
    "run by hand before its time",
  ).toBeUndefined();
  expect(oneTimeOutcome(aJob({ schedule: once }), [], later)).toBeUndefined();
  expect(oneTimeOutcome(aJob({ schedule: once }), undefined, later)).toBeUndefined();
  expect(oneTimeOutcome(aJob({ state: { lastState: "succeeded" } }), [aRun()], later)).toBeUndefined();
});
