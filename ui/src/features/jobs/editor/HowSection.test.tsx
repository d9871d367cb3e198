import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const catalog = {
  tools: [
    aTool({ name: "echo" }),
    aTool({ name: "routine_list", attendedOnly: true, canBeTried: false }),
    aTool({ name: "complete_run", canBeTried: false }),
  ],
  refused: [],
};

test("tools without use are hidden and a selected one removable", async () => {
  const payload = { kind: "agentTurn" as const, message: "Look.", tools: ["routine_create"] };
  const host = fakeHost({
    "cron.get": () => aJob({ payload }),
    "cron.preview": () => aPreview({ text: "Daily" }),
    "tools.catalog": () => ({
      tools: [...catalog.tools, aTool({ name: "routine_create", attendedOnly: true, canBeTried: false })],
      refused: [],
    }),
  });
  renderApp("/jobs/job-1", host);
  const tools = within(await screen.findByRole("group", { name: "Selected tools" }));
  expect(await tools.findByText("echo")).toBeInTheDocument();
  expect(tools.getByText("routine_create")).toBeInTheDocument();
  expect(tools.queryByText("routine_list")).toBeNull();
  expect(tools.queryByText("complete_run")).toBeNull();
});

test("backticks in a tool description show as code", async () => {
  const parameters = {
    type: "object",
    properties: { path: { type: "string", description: "Such as `notes/a.md`." } },
    required: ["path"],
  };
  const host = fakeHost({
    "cron.get": () => aJob({ payload: { kind: "toolCall", tool: "look", arguments: {} } }),
    "cron.preview": () => aPreview({ text: "Daily" }),
    "tools.catalog": () => ({
      tools: [aTool({ name: "look", description: "Reads `path` of the workspace.", parameters })],
      refused: [],
    }),
  });
  const { user } = renderApp("/jobs/job-1", host);
  expect(await screen.findByText("path", { selector: "code" })).toBeInTheDocument();
  expect(screen.getByText("notes/a.md", { selector: "code" })).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /Tool$/ }));
  const option = await screen.findByRole("option", { name: "look" });
  expect(within(option).getByText("path", { selector: "code" })).toBeInTheDocument();
  expect(document.body).not.toHaveTextContent("`");
});

test.each([
  ["nothing", {}, null, "Provider’s limit"],
  ["the job's own budget", { budget: { usdPerDay: 1 } }, null, "By model and budget"],
  ["the budget of everything", {}, 50_000, "By model and budget"],
])("%s explains the default answer limit", async (_, policies, tokensPerDay, words) => {
  const host = fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look." }, policies }),
    "cron.preview": () => aPreview({ text: "Daily" }),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  const nothing = { tokens: 0, costMicroUsd: 0, unpricedTokens: 0 };
  host.answers["spending.get"] = () => ({
    today: nothing,
    month: nothing,
    dayEndsAtMs: 0,
    tokensPerDay,
    usdPerDay: null,
  });
  renderApp("/jobs/job-1", host);
  await waitFor(() =>
    expect(screen.getByRole("textbox", { name: "Max answer tokens" })).toHaveAttribute("placeholder", words),
  );
});
