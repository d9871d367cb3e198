import { expect, test } from "vitest";

import { offsetOf, wallToUtc, tomorrowAt, wallTimeIn } from "./wall";

test("engine time splits into wall time and offset", () => {
  const written = "2026-11-23T07:30:05-03:30";
  expect(new Date(wallToUtc(written)).toISOString()).toBe("2026-11-23T07:30:05.000Z");
  expect(offsetOf(written)).toBe("-03:30");
});

test("quick times are never earlier and use the zone's days", () => {
  const now = Date.parse("2026-11-22T22:30:20Z");
  expect(wallTimeIn(20, now, "UTC")).toBe("2026-11-22T22:51");
  expect(wallTimeIn(20, Date.parse("2026-11-22T22:30:00Z"), "UTC")).toBe("2026-11-22T22:50");
  expect(tomorrowAt("09:00", now, "UTC")).toBe("2026-11-23T09:00");
  expect(tomorrowAt("09:00", now, "Asia/Tokyo")).toBe("2026-11-24T09:00");
});
