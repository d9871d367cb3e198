import { expect, test } from "vitest";

import { aStatus, noon } from "@/test/fixtures";

import { skipReason, pauseMessage } from "./skipReason";

test("slot inside a pause is skipped and at its end fires", () => {
  const { cron } = aStatus({ cron: { pause: { untilMs: noon } } });
  expect(skipReason(cron, noon - 1)).toBe("paused");
  expect(skipReason(cron, noon)).toBeUndefined();
  expect(skipReason(aStatus({ cron: { pause: { untilMs: null } } }).cron, noon)).toBe("paused");
  expect(skipReason(aStatus({ cron: { enabled: false } }).cron, noon)).toBe("off");
  expect(skipReason(aStatus().cron, noon)).toBeUndefined();
  expect(skipReason(undefined, noon), "nothing is known yet").toBeUndefined();
});

test("pause message explains skipped runs", () => {
  expect(pauseMessage({ untilMs: null }, noon)).toBe(
    "All jobs are paused until you resume them. Runs due before then are skipped.",
  );
  expect(pauseMessage({ untilMs: noon + 60_000 }, noon)).toMatch(
    /^All jobs are paused until \d\d:01\. Runs due before then are skipped\.$/,
  );
});
