import { expect, test } from "vitest";

import { aStatus, noon } from "@/test/fixtures";

import { leftOutBecause, pauseWords } from "./firing";

test("a slot in the pause is left out, and the one at its end fires", () => {
  const { cron } = aStatus({ cron: { pause: { untilMs: noon } } });
  expect(leftOutBecause(cron, noon - 1)).toBe("paused");
  expect(leftOutBecause(cron, noon)).toBeUndefined();
  expect(leftOutBecause(aStatus({ cron: { pause: { untilMs: null } } }).cron, noon)).toBe("paused");
  expect(leftOutBecause(aStatus({ cron: { enabled: false } }).cron, noon)).toBe("off");
  expect(leftOutBecause(aStatus().cron, noon)).toBeUndefined();
  expect(leftOutBecause(undefined, noon), "nothing is known yet").toBeUndefined();
});

test("a pause says what becomes of what comes in it", () => {
  expect(pauseWords({ untilMs: null }, noon)).toBe("Everything is paused until you resume it. What comes before that is left out.");
  expect(pauseWords({ untilMs: noon + 60_000 }, noon)).toMatch(/^Everything is paused until \d\d:01\. What comes before that is left out\.$/);
});
