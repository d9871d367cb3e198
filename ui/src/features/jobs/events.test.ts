import { expect, test } from "vitest";

import { emptyEvent, eventForm, eventOf, filtersOf } from "./events";

test.each<Parameters<typeof eventForm>[0]>([
  { kind: "event", source: "wake" },
  { kind: "event", source: "job", filters: { jobId: "a", status: "ok" } },
  { kind: "event", source: "job", filters: { status: "timedOut" }, pattern: "disk" },
  { kind: "event", source: "github", filters: { type: "push", n: 3, on: true, version: "3", quoted: "\"x\"", empty: "" } },
  { kind: "event", source: "webhook", filters: { jobId: "a", status: "ok" } },
])("%j is read and written back", (schedule) => {
  expect(eventOf(eventForm(schedule))).toEqual(schedule);
});

test("what is not whole is not sent", () => {
  expect(eventOf({ ...emptyEvent, source: "other", otherSource: " " })).toBeUndefined();
  expect(eventOf({ ...emptyEvent, filters: "type" })).toBeUndefined();
  expect(filtersOf("a = b\n\nc=d=e")).toEqual({ filters: { a: "b", c: "d=e" } });
  expect(filtersOf("=b")).toHaveProperty("problem");
});
