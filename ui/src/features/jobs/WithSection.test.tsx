import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const catalog = {
  tools: [aTool({ name: "echo" }), aTool({ name: "routine_list", attendedOnly: true, canBeTried: false }), aTool({ name: "complete_run", canBeTried: false })],
};

test("tools that no run of a job can call are not offered, and one that was chosen can be taken off", async () => {
  const payload = { kind: "agentTurn" as const, message: "Look.", tools: ["routine_create"] };
  const host = fakeHost({
    "cron.get": () => aJob({ payload }),
    "cron.preview": () => ({ text: "Daily", zone: "UTC", localZone: "UTC", notes: [], next: [] }),
    "tools.catalog": () => ({ tools: [...catalog.tools, aTool({ name: "routine_create", attendedOnly: true, canBeTried: false })] }),
  });
  renderApp("/jobs/job-1", host);
  const tools = within(await screen.findByRole("group", { name: "Tools" }));
  expect(await tools.findByText("echo")).toBeInTheDocument();
  expect(tools.getByText("routine_create")).toBeInTheDocument();
  expect(tools.queryByText("routine_list")).toBeNull();
  expect(tools.queryByText("complete_run")).toBeNull();
});
