import { expect, test } from "vitest";

import { aJob } from "@/test/fixtures";

import { countJobs, filterJobs } from "./jobFilters";
import { readJobsSearch, readNewJobSearch } from "@/features/jobs/searchParams";

const jobs = [
  aJob(
    { id: "well", name: "Backup of photos", description: "To the NAS", state: { lastState: "succeeded" } },
    { scheduleText: "Weekdays at 07:30" },
  ),
  aJob({ id: "bad", name: "Release notes", state: { lastState: "timedOut", consecutiveFailures: 2 } }),
  aJob({ id: "off", name: "Invoices", enabled: false, state: { lastState: "failed", consecutiveFailures: 1 } }),
  aJob({ id: "new", name: "Stretch" }),
];
const ids = (search: Parameters<typeof filterJobs>[1]) => filterJobs(jobs, search).map(({ job }) => job.id);

test("filters match and a paused job is not failing", () => {
  expect(ids({})).toEqual(["well", "bad", "off", "new"]);
  expect(ids({ filter: "active" })).toEqual(["well", "bad", "new"]);
  expect(ids({ filter: "paused" })).toEqual(["off"]);
  expect(ids({ filter: "failing" })).toEqual(["bad"]);
  expect(countJobs(jobs)).toEqual({ all: 4, active: 3, paused: 1, failing: 1 });
});

test("search matches name, description and schedule", () => {
  expect(ids({ q: "nas backup" })).toEqual(["well"]);
  expect(ids({ q: "WEEKDAYS" })).toEqual(["well"]);
  expect(ids({ q: "backup invoices" })).toEqual([]);
  expect(ids({ q: " ", filter: "paused" })).toEqual(["off"]);
});

test("one-time job is active until its run has ended", () => {
  const behind = { kind: "at", atMs: Date.now() - 1 } as const;
  const soon = { kind: "at", atMs: Date.now() + 3_600_000 } as const;
  const done = aJob({ schedule: behind, state: { lastState: "succeeded" } });
  const ahead = aJob({ schedule: soon, state: { nextRunAtMs: soon.atMs } });
  const onAgain = aJob({ schedule: soon, state: { lastState: "succeeded" } });
  const running = aJob({ schedule: behind }, { liveRunIds: ["r"] });
  expect(countJobs([done, ahead, onAgain, running])).toEqual({ all: 4, active: 3, paused: 0, failing: 0 });
});

test("unknown search parameters are ignored", () => {
  expect(readJobsSearch({ filter: "failing", q: "x" })).toEqual({ filter: "failing", q: "x" });
  expect(readJobsSearch({ filter: "odd", q: "" })).toEqual({});
  expect(readNewJobSearch({ from: "j1", template: "brief" })).toEqual({ from: "j1", template: "brief" });
  expect(readNewJobSearch({ from: 1, template: "odd" })).toEqual({});
});
