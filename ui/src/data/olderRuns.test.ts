import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aDetail, aRun } from "@/test/fixtures";

import { createQueryClient } from "./client";
import { keys } from "./keys";
import { refreshOlderRuns } from "./olderRuns";

const queued = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => aRun({ id: `r${from + i}`, state: "queued" }));

/** A newest page r0…r49 and older pages r0…r199. */
function loaded() {
  const client = createQueryClient();
  client.setQueryData(keys.runsHead({}), { runs: queued(0, 50), nextCursor: "r49", total: 200 });
  client.setQueryData(keys.runPages({}), {
    pages: [{ runs: queued(0, 200), nextCursor: null, total: 200 }],
    pageParams: [undefined],
  });
  const host = fakeHost({ "runs.get": ({ id }) => aDetail({ id, state: "succeeded" }) });
  const states = () => {
    const data = client.getQueryData<{ pages: { runs: { id: string; state: string }[] }[] }>(keys.runPages({}));
    return data?.pages[0]?.runs.filter((run) => run.state === "succeeded").map((run) => run.id);
  };
  return { client, host, states };
}

test("finished run on an older page updates in place", async () => {
  const { client, host, states } = loaded();
  await refreshOlderRuns(client, host, new Set(["r199", "r120", "unknown"]));
  expect(states()).toEqual(["r120", "r199"]);
  expect(host.called("runs.get")).toHaveLength(2);
});

test("run on the newest page is not fetched twice", async () => {
  const { client, host } = loaded();
  await refreshOlderRuns(client, host, new Set(["r0", "r49"]));
  expect(host.calls).toEqual([]);
});

test("many changed runs refetch the pages", async () => {
  const { client, host } = loaded();
  await refreshOlderRuns(client, host, new Set(queued(100, 60).map((run) => run.id)));
  expect(host.calls).toEqual([]);
  expect(client.getQueryState(keys.runPages({}))?.isInvalidated).toBe(true);
});
