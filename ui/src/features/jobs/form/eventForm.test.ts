import { expect, test } from "vitest";

import { emptyEventForm, eventFormFrom, eventScheduleFrom, parseFilters } from "./eventForm";

test.each<Parameters<typeof eventFormFrom>[0]>([
  { kind: "event", source: "wake" },
  { kind: "event", source: "job", filters: { jobId: "a", status: "ok" } },
  { kind: "event", source: "job", filters: { status: "timedOut" }, pattern: "disk" },
  {
    kind: "event",
    source: "github",
    filters: { type: "push", n: 3, on: true, version: "3", quoted: '"x"', empty: "" },
  },
  { kind: "event", source: "webhook", filters: { jobId: "a", status: "ok" } },
])("%j is read and written back", (schedule) => {
  expect(eventScheduleFrom(eventFormFrom(schedule))).toEqual(schedule);
});

test("incomplete event has no schedule", () => {
  expect(eventScheduleFrom({ ...emptyEventForm, source: "other", otherSource: " " })).toBeUndefined();
  expect(eventScheduleFrom({ ...emptyEventForm, filters: "type" })).toBeUndefined();
  expect(parseFilters("a = b\n\nc=d=e")).toEqual({ filters: { a: "b", c: "d=e" } });
  expect(parseFilters("=b")).toHaveProperty("problem");
});
