import { expect, test } from "vitest";

import { aRun } from "@/test/fixtures";

import { dayAround, futureTicks, hoursOf, pastTicks } from "./day";

const noon = new Date(2026, 10, 21, 12, 0, 0).getTime();
const day = dayAround(noon);
const minute = 60_000;

test("day spans midnight to midnight", () => {
  expect(new Date(day.begin).getHours()).toBe(0);
  expect(day.end - day.begin).toBe(24 * 60 * minute);
  expect(hoursOf(day, 6).map((at) => new Date(at).getHours())).toEqual([0, 6, 12, 18, 0]);
});

test("frequent job draws at most one tick per bucket", () => {
  const runs = Array.from({ length: 24 * 60 }, (_, i) => aRun({ id: `r${i}`, startedAtMs: day.begin + i * minute }));
  const ticks = pastTicks(day, runs);
  expect(ticks).toHaveLength(144);
  expect(ticks.reduce((sum, tick) => sum + tick.runs.length, 0)).toBe(runs.length);
});

test("most severe run sets the tone of a tick", () => {
  const at = day.begin + 5 * minute;
  expect(pastTicks(day, [aRun({ startedAtMs: at }), aRun({ startedAtMs: at, state: "failed" })])[0]?.tone).toBe("bad");
  expect(pastTicks(day, [aRun({ startedAtMs: at, state: "missed" }), aRun({ startedAtMs: at })])[0]?.tone).toBe("good");
});

test("another day is not on the strip", () => {
  const slots = [noon + 30 * minute, noon + 31 * minute, day.end + minute].map((at) => ({ at, name: "Backup" }));
  expect(futureTicks(day, slots).map((tick) => tick.names)).toEqual([["Backup", "Backup"]]);
  expect(pastTicks(day, [aRun({ startedAtMs: day.begin - 1 })])).toEqual([]);
});
