import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { AgentTurn } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anExtension, aPreview } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(payload: Partial<AgentTurn> = {}) {
  return fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Fix the lint errors.", ...payload } }),
    "cron.preview": () => aPreview({ text: "Daily at 14:00" }),
    "cron.update": () => aJob(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.list": () => ({
      extensions: [
        anExtension({ name: "claude-code", isCodingAgent: true, state: "off", label: "off" }),
        anExtension({ name: "codex", isCodingAgent: true, isEnabled: false }),
        anExtension(),
      ],
    }),
  });
}

type User = ReturnType<typeof renderApp>["user"];

async function choose(user: User, option: string) {
  await user.click(await screen.findByRole("button", { name: /Coding agent$/ }));
  await user.click(await screen.findByRole("option", { name: option }));
}

test("coding agent hides and drops the fields of a model", async () => {
  const host = hostWith({ model: "m", maxSteps: 4, servers: ["cal"], deliver: false });
  const { user } = renderApp("/jobs/job-1", host);
  expect(await screen.findByRole("textbox", { name: "Model" })).toHaveValue("m");
  expect(screen.queryByRole("textbox", { name: "Folder" })).toBeNull();
  await choose(user, "claude-code");
  for (const name of ["Model", "Fallback models", "Max steps", "Max answer tokens"])
    expect(screen.queryByRole("textbox", { name })).toBeNull();
  expect(screen.queryByRole("group", { name: "MCP servers" })).toBeNull();
  expect(screen.queryByRole("button", { name: /Effort$/ })).toBeNull();
  const folder = screen.getByRole("textbox", { name: "Folder" });
  expect(folder).toHaveAccessibleDescription(/needs write access under Permissions/);
  await user.type(folder, "~/site");
  const preview = within(screen.getByRole("complementary", { name: "Job preview" }));
  expect(preview.getByText("claude-code").parentElement).toHaveTextContent("claude-code, in ~/site");
  expect(preview.getByText(/^Depends on the coding agent/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({
    patch: { payload: { agent: "claude-code", cwd: "~/site", model: null, maxSteps: null, servers: null } },
  });
});

test("model takes over and keeps its fields", async () => {
  const host = hostWith({ agent: "claude-code", cwd: "site" });
  const { user } = renderApp("/jobs/job-1", host);
  expect(await screen.findByRole("textbox", { name: "Folder" })).toHaveValue("site");
  await choose(user, "None: a model");
  expect(screen.queryByRole("textbox", { name: "Folder" })).toBeNull();
  await user.type(screen.getByRole("textbox", { name: "Model" }), "m");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({ patch: { payload: { agent: null, cwd: null, model: "m" } } });
});

test.each([
  ["codex", /Disabled\. Runs fail until you enable the agent in Tools\./],
  ["gone", /Not installed\. Runs fail until you choose another agent or install it in Tools\./],
])("unavailable agent %s is warned about", async (agent, warning) => {
  renderApp("/jobs/job-1", hostWith({ agent }));
  expect(await screen.findByText(agent, { selector: "button *" })).toBeInTheDocument();
  expect(await screen.findByText(warning)).toBeInTheDocument();
});

test("servers and coding agents are not mixed up", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith());
  const servers = within(await screen.findByRole("group", { name: "MCP servers" }));
  expect(servers.getAllByRole("checkbox").map((box) => box.closest("label")?.textContent)).toEqual(["cal"]);
  await user.click(await screen.findByRole("button", { name: /Coding agent$/ }));
  const options = await screen.findAllByRole("option");
  expect(options.map(({ textContent }) => textContent)).toEqual(["None: a model", "claude-code", "codexDisabled."]);
});

test("field is hidden while no coding agent is installed", async () => {
  const host = hostWith();
  host.answers["extensions.list"] = () => ({ extensions: [anExtension()] });
  renderApp("/jobs/job-1", host);
  await screen.findByRole("group", { name: "MCP servers" });
  expect(screen.queryByRole("button", { name: /Coding agent$/ })).toBeNull();
});

test("permissions of a coding agent leave out its hosts and sandbox", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith({ agent: "claude-code" }));
  await screen.findByRole("textbox", { name: "Folder" });
  await user.click(screen.getByRole("button", { name: /^Permissions/ }));
  expect(await screen.findByRole("textbox", { name: "Folders" })).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Hosts" })).toBeNull();
  expect(screen.queryByRole("switch", { name: "Run commands outside the sandbox" })).toBeNull();
  await user.click(screen.getByRole("button", { name: /Approvals$/ }));
  expect((await screen.findAllByRole("option")).map(({ textContent }) => textContent)).toEqual([
    "Ask meThe task waits for your decision. Other runs continue.",
    "DenyThe task fails at the first permission request.",
  ]);
});
