import { expect, test } from "vitest";

import { noon } from "@/test/fixtures";

import { readRunsSearch, toParams } from "./searchParams";

test("URL keeps known parameters and drops others", () => {
  expect(
    readRunsSearch({
      job: "j1",
      state: ["failed", "timedOut", "exploded"],
      trigger: "manual",
      time: "week",
      q: " disk ",
    }),
  ).toEqual({
    job: "j1",
    state: ["failed", "timedOut"],
    trigger: "manual",
    time: "week",
    q: " disk ",
  });
  expect(readRunsSearch({ job: 7, state: "exploded", trigger: "moon", time: "always", q: "  " })).toEqual({});
  expect(readRunsSearch({ state: "failed" })).toEqual({ state: ["failed"] });
});

test("each filter maps to one parameter", () => {
  expect(toParams({}, noon)).toEqual({});
  expect(toParams({ job: "j1", state: ["failed"], trigger: "catchUp", q: " disk " }, noon)).toEqual({
    jobId: "j1",
    states: ["failed"],
    triggers: ["catchUp"],
    search: "disk",
  });
});

test("days begin at local midnight and hold still all day", () => {
  const morning = toParams({ time: "week" }, noon).fromMs;
  expect(morning).toBe(toParams({ time: "week" }, noon + 3_600_000).fromMs);
  const midnight = new Date(noon);
  midnight.setHours(0, 0, 0, 0);
  expect(toParams({ time: "today" }, noon).fromMs).toBe(midnight.getTime());
});
