import { expect, test } from "vitest";

import { offsetOf, shownIn, tomorrowAt, wallIn } from "./wall";

test("a time as the engine has written it is told apart into what the clock shows and how far that is from UTC", () => {
  const written = "2026-11-23T07:30:05-03:30";
  expect(new Date(shownIn(written)).toISOString()).toBe("2026-11-23T07:30:05.000Z");
  expect(offsetOf(written)).toBe("-03:30");
});

test("soon is counted from now and never sooner; tomorrow is the zone's", () => {
  const now = Date.parse("2026-11-22T22:30:20Z");
  expect(wallIn(20, now, "UTC")).toBe("2026-11-22T22:51");
  expect(wallIn(20, Date.parse("2026-11-22T22:30:00Z"), "UTC")).toBe("2026-11-22T22:50");
  expect(tomorrowAt("09:00", now, "UTC")).toBe("2026-11-23T09:00");
  expect(tomorrowAt("09:00", now, "Asia/Tokyo")).toBe("2026-11-24T09:00");
});
