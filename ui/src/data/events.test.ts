import { type QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { RunDetail } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aDetail } from "@/test/fixtures";

import { createQueryClient } from "./client";
import { EventFeed } from "./events";
import { keys } from "./keys";

let client: QueryClient;
let host: FakeHost;
let feed: EventFeed;
let fetched: string[];

beforeEach(() => {
  vi.useFakeTimers();
  client = createQueryClient();
  host = fakeHost();
  feed = new EventFeed(client, host);
  fetched = [];
});

afterEach(() => {
  vi.useRealTimers();
  client.clear();
});

/** Mounted view: refetched when stale. */
function showing(queryKey: readonly unknown[], fetch: () => Promise<string> = () => Promise.resolve("answer")) {
  client.setQueryData(queryKey, "first");
  const query = client.getQueryCache().find({ queryKey });
  if (!query) throw new Error("no such query");
  const name = JSON.stringify(queryKey);
  vi.spyOn(query, "isActive").mockReturnValue(true);
  vi.spyOn(query, "isDisabled").mockReturnValue(false);
  vi.spyOn(query, "fetch").mockImplementation(() => {
    fetched.push(name);
    return fetch();
  });
  return name;
}

/** Long enough for a flush, too short for unused answers to be thrown away. */
const settled = () => vi.advanceTimersByTimeAsync(200);

/** Starts the stream and clears the initial fetches. */
async function started() {
  feed.start();
  host.emit("config", {}, 10);
  await settled();
  fetched.length = 0;
}

test("event invalidates only its views", async () => {
  await started();
  const run = showing(keys.run("r1"));
  showing(keys.run("r2"));
  const runs = showing(keys.runsHead({}));
  host.emit("run", { runId: "r1", jobId: "j1", state: "succeeded" });
  await settled();
  expect(fetched.toSorted()).toEqual([run, runs].toSorted());
});

test("delivery event invalidates its delivery and the channels", async () => {
  await started();
  const names = [showing(keys.delivery("d1")), showing(keys.channels), showing(keys.status)];
  showing(keys.delivery("d2"));
  host.emit("delivery", { deliveryId: "d1", state: "delivered" });
  await settled();
  expect(fetched.toSorted()).toEqual(names.toSorted());
});

test("changed job or settings invalidate previews", async () => {
  await started();
  const preview = showing(keys.preview({ id: "j1" }));
  host.emit("cron", { action: "updated", jobId: "j1" });
  await settled();
  host.emit("config", {});
  await settled();
  expect(fetched).toEqual([preview, preview]);
});

test("event without a job id invalidates every job", async () => {
  await started();
  const names = [showing(keys.jobs), showing(keys.job("j1")), showing(keys.effectiveTools("j2"))];
  showing(keys.run("r1"));
  host.emit("cron", { action: "updated", jobs: 10_000 });
  await settled();
  expect(fetched.toSorted()).toEqual(names.toSorted());
});

test.each([
  ["a grant that is taken back, which names no job", "approval", { grantId: "g1" }],
  ["trust in a skill", "config", { skills: 1 }],
] as const)("%s invalidates effective tools", async (_, kind, data) => {
  await started();
  const names = [showing(keys.effectiveTools("j1")), showing(keys.toolsOfDraft(undefined))];
  showing(keys.run("r1"));
  host.emit(kind, data);
  await settled();
  expect(fetched.toSorted()).toEqual(names.toSorted());
});

test("checked tool invalidates builds and tools, but no setting", async () => {
  await started();
  const names = [showing(keys.toolBuild("weather", undefined)), showing(keys.extensions), showing(keys.tools)];
  showing(keys.config);
  host.emit("config", { toolBuilds: "weather" });
  await settled();
  expect(fetched.toSorted()).toEqual(names.toSorted());
});

test("sequence gap refetches everything", async () => {
  await started();
  const names = [showing(keys.jobs), showing(keys.run("r2")), showing(keys.config)];
  host.emit("delivery", { runId: "r1" }, 12);
  await settled();
  expect(fetched.toSorted()).toEqual(names.toSorted());
});

test("restarted sequence refetches everything", async () => {
  await started();
  const jobs = showing(keys.jobs);
  host.emit("delivery", {}, 3);
  await settled();
  expect(fetched).toEqual([jobs]);
});

test("reset event without data refetches everything", async () => {
  await started();
  const jobs = showing(keys.jobs);
  host.emit("reset", null as never, 11);
  await settled();
  expect(fetched).toEqual([jobs]);
});

test("consecutive events leave other views alone", async () => {
  await started();
  showing(keys.run("r9"));
  host.emit("run", { runId: "r1" });
  host.emit("run", { runId: "r2" });
  await settled();
  expect(fetched).toEqual([]);
});

test("burst causes one fetch and later events another", async () => {
  await started();
  let finish: () => void = () => undefined;
  const jobs = showing(keys.jobs, () => new Promise<string>((resolve) => (finish = () => resolve("answer"))));
  for (let i = 0; i < 1_000; i += 1) host.emit("cron", { jobId: `j${i}`, action: "started" });
  await vi.advanceTimersByTimeAsync(100);
  expect(fetched).toEqual([jobs]);
  host.emit("cron", { jobId: "j1", action: "finished" });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(fetched).toEqual([jobs]);
  finish();
  await vi.advanceTimersByTimeAsync(100);
  expect(fetched).toEqual([jobs, jobs]);
});

test("live text appears without fetch or sequence number", async () => {
  await started();
  client.setQueryData(keys.run("r1"), aDetail({ id: "r1", state: "running" }));
  host.emit("runText", { runId: "r1", text: "Looking at" }, 0);
  expect(client.getQueryData<RunDetail>(keys.run("r1"))?.liveText).toBe("Looking at");
  const jobs = showing(keys.jobs);
  host.emit("delivery", {}, 11);
  await settled();
  expect(fetched, "11 follows 10, so nothing was missed").not.toContain(jobs);
});

test("newest progress of each call appears without fetch", async () => {
  await started();
  client.setQueryData(keys.run("r1"), aDetail({ id: "r1", state: "running" }));
  const [first, second] = [1, 2].map((step) => ({ step, tool: "cal_list", text: "1 of 2" }));
  for (const progress of [first, second, { ...first, text: "2 of 2" }])
    host.emit("runProgress", { runId: "r1", ...progress }, 0);
  expect(client.getQueryData<RunDetail>(keys.run("r1"))?.progress).toEqual([second, { ...first, text: "2 of 2" }]);
});

test("unnumbered event invalidates its keys only", async () => {
  await started();
  const [status, jobs, run] = [showing(keys.status), showing(keys.jobs), showing(keys.run("r1"))];
  host.emit("config", { screens: 1 }, 0);
  await settled();
  expect(fetched.toSorted()).toEqual([status, jobs].toSorted());
  fetched.length = 0;
  host.emit("reset", null as never, 0);
  await settled();
  expect(fetched.toSorted(), "another engine, and nobody knows what it has done").toEqual(
    [status, jobs, run].toSorted(),
  );
  fetched.length = 0;
  host.emit("delivery", {}, 11);
  await settled();
  expect(fetched, "whether notifications get through, and nothing else").toEqual([status]);
});

test("coming back after a break fetches everything again", async () => {
  await started();
  const jobs = showing(keys.jobs);
  host.connection("lost");
  await settled();
  expect(fetched, "nothing but the status can be known now").toEqual([]);
  expect(feed.connection()).toBe("lost");
  host.connection("open");
  await settled();
  expect(fetched).toEqual([jobs]);
});

test("lost connection refetches the status", async () => {
  await started();
  showing(keys.jobs);
  const status = showing(keys.status);
  host.connection("lost");
  await settled();
  expect(fetched).toEqual([status]);
});

test("change during a first fetch fetches again", async () => {
  await started();
  const answers: ((word: string) => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: keys.run("r1"),
    queryFn: () => new Promise<string>((answer) => answers.push(answer)),
  });
  const stop = observer.subscribe(() => {});
  host.emit("approval", { approvalId: "a1", runId: "r1", state: "pending" }, 11);
  await settled();
  expect(answers).toHaveLength(1);
  answers[0]!("as it was before");
  await settled();
  expect(answers).toHaveLength(2);
  answers[1]!("as it is");
  await settled();
  expect(observer.getCurrentResult().data).toBe("as it is");
  expect(answers).toHaveLength(2);
  stop();
});
