import { expect, test } from "vitest";

import { instantOf, oddityOf, tomorrowAt, wallIn, wallOf } from "./wall";

test("a time that the clocks skip is said, and where it goes", () => {
  const wall = "2027-03-28T02:30";
  expect(oddityOf(wall, "Europe/Berlin")).toBe("The clocks skip 02:30 on that day. It fires right after, at 03:30.");
  expect(wallOf(instantOf(wall, "Europe/Berlin") ?? 0, "Europe/Berlin")).toBe("2027-03-28T03:30");
});

test("a time that comes twice is said, and which one is meant", () => {
  const wall = "2027-10-31T02:30";
  expect(oddityOf(wall, "Europe/Berlin")).toBe("The clocks show 02:30 twice on that day. It fires the first time.");
  expect(instantOf(wall, "Europe/Berlin")).toBe(Date.UTC(2027, 9, 31, 0, 30));
});

test("any other time needs no words", () => {
  expect(oddityOf("2027-03-28T01:59", "Europe/Berlin")).toBeUndefined();
  expect(oddityOf("2027-03-28T02:30", "UTC")).toBeUndefined();
  expect(oddityOf("", "UTC")).toBeUndefined();
});

test("soon is counted from now and never sooner; tomorrow is the zone's", () => {
  const now = Date.parse("2026-11-22T22:30:20Z");
  expect(wallIn(20, now, "UTC")).toBe("2026-11-22T22:51");
  expect(wallIn(20, Date.parse("2026-11-22T22:30:00Z"), "UTC")).toBe("2026-11-22T22:50");
  expect(tomorrowAt("09:00", now, "UTC")).toBe("2026-11-23T09:00");
  expect(tomorrowAt("09:00", now, "Asia/Tokyo")).toBe("2026-11-24T09:00");
});
