import { expect, test } from "vitest";

import {
  absolute,
  clock,
  dayName,
  otherZoneName,
  relative,
  refreshIntervalMs,
  when,
  whenWithin,
  zoneName,
} from "./time";

const at = (text: string) => Date.parse(text);
const now = at("2026-11-21T10:00:00Z");

test.each([
  [0, "now"],
  [4_000, "now"],
  [-12_000, "12 s ago"],
  [90_000, "in 2 min"],
  [59 * 60_000, "in 59 min"],
  [59_700, "in 1 min"],
  [3_590_000, "in 1 h"],
  [2 * 3_600_000, "in 2 h"],
  [105 * 60_000, "in 1 h 45 min"],
  [135 * 60_000, "in 2 h 15 min"],
  [-135 * 60_000, "2 h ago"],
  [8.4 * 3_600_000, "in 8 h"],
  [-26 * 3_600_000, "1 d ago"],
])("%i ms from now is %s", (distance, words) => {
  expect(relative(now + distance, now, "UTC")).toBe(words);
});

test("time beyond a week is a date, with another year shown", () => {
  expect(relative(at("2026-12-24T18:00:00Z"), now, "UTC")).toMatch(/24/);
  expect(relative(at("2026-12-24T18:00:00Z"), now, "UTC")).not.toMatch(/2026/);
  expect(relative(at("2027-12-24T18:00:00Z"), now, "UTC")).toMatch(/2027/);
});

test("days are the zone's days, not this computer's", () => {
  const late = at("2026-11-21T23:30:00Z");
  expect(dayName(late, now, "UTC")).toBe("Today");
  expect(dayName(late, now, "Asia/Tokyo")).toBe("Tomorrow");
});

test("today has no day name, other days do", () => {
  expect(when(at("2026-11-21T14:00:00Z"), now, "UTC")).toBe(clock(at("2026-11-21T14:00:00Z"), "UTC"));
  expect(when(at("2026-11-22T14:00:00Z"), now, "UTC")).toMatch(/^Tomorrow/);
  expect(when(at("2026-11-24T14:00:00Z"), now, "UTC")).toMatch(/^Tuesday/);
  expect(whenWithin(at("2026-11-22T14:00:00Z"), now, "UTC")).toMatch(/^tomorrow/);
  expect(whenWithin(at("2026-11-24T14:00:00Z"), now, "UTC")).toMatch(/^Tuesday/);
  expect(when(at("2026-11-20T14:00:00Z"), now, "UTC")).toMatch(/^Yesterday/);
});

test("absolute time has seconds and zone", () => {
  expect(absolute(now, "UTC")).toMatch(/10:00:00.*UTC/);
});

test("only near times refresh every second", () => {
  expect(refreshIntervalMs(30_000)).toBe(1_000);
  expect(refreshIntervalMs(-600_000)).toBe(30_000);
});

test("foreign zone is named by city", () => {
  expect(zoneName("America/New_York")).toBe("New York");
  expect(otherZoneName("Europe/Berlin", "Europe/Berlin")).toBeUndefined();
  expect(otherZoneName("Europe/Berlin", "UTC")).toBe("Berlin");
  expect(otherZoneName(undefined, "UTC")).toBeUndefined();
  expect(otherZoneName("Etc/UTC", "UTC"), "another name for the same").toBeUndefined();
  expect(otherZoneName("Mars/Olympus_Mons", "UTC")).toBe("Olympus Mons");
});

test("clock shows 24 hours", () => {
  expect(clock(at("2026-11-21T14:05:00Z"), "UTC")).toBe("14:05");
  expect(clock(at("2026-11-21T00:05:00Z"), "UTC")).toBe("00:05");
  expect(absolute(at("2026-11-21T23:30:00Z"), "UTC")).toMatch(/23:30:00/);
});
