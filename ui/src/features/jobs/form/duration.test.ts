import { expect, test } from "vitest";

import { parseDuration } from "./duration";

test.each([
  ["20m", 1_200_000],
  ["20 min", 1_200_000],
  ["1h30m", 5_400_000],
  ["1h 30 min", 5_400_000],
  ["1 hour, 5 minutes", 3_900_000],
  ["1 h and 5 min", 3_900_000],
  ["2 Days", 172_800_000],
  ["1.5h", 5_400_000],
  ["250ms", 250],
  ["PT1H30M", 5_400_000],
  ["p1dt2h", 93_600_000],
  ["P2W", 1_209_600_000],
])("%j lasts %j", (written, ms) => {
  expect(parseDuration(written)).toBe(ms);
});

test.each([
  "",
  "07:30",
  "0m",
  "20",
  "1mo",
  "2 months",
  "P1M",
  "PT",
  "30m1h",
  "1h1h",
  "1.5h 5m",
  "0.5ms",
  "1h,5m",
  "1h, ",
  "1h and ",
  "soon",
  "-5m",
  "1.h",
])("%j is no duration, as at the engine", (written) => {
  expect(parseDuration(written)).toBeUndefined();
});
