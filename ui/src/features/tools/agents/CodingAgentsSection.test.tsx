import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, type ExtensionView, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { anExtension, anExtensionDetail, aPreset, aToolsPage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const { server } = aPreset();

function anAgent(parts: Partial<ExtensionView> = {}): ExtensionView {
  return anExtension({
    name: "claude-code",
    transport: "/usr/bin/claude-agent-acp",
    isCodingAgent: true,
    state: "off",
    label: "off",
    reportedVersion: "Claude Code 2.1",
    ...parts,
  });
}

function hostWith(...extensions: ExtensionView[]) {
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.list": () => ({ extensions }),
    "extensions.get": ({ name }) => anExtensionDetail({ name, extension: { server } }),
  });
}

const section = async () => within(await screen.findByRole("region", { name: "Coding agents" }));

test("agent shows version, state and permissions, but no tools", async () => {
  const { user } = renderApp("/tools", hostWith(anAgent(), anExtension()));
  const agent = within(await (await section()).findByRole("region", { name: "claude-code" }));
  expect(agent.getByText("Claude Code 2.1")).toBeInTheDocument();
  expect(agent.getByText("Idle")).toBeInTheDocument();
  expect(agent.getByRole("switch", { name: "Use claude-code in runs" })).toBeChecked();
  expect(agent.queryByText("No accepted tools.")).toBeNull();
  await user.click(agent.getByRole("button", { name: /^Details/ }));
  expect(await agent.findByText("~/.claude (read and write)")).toBeInTheDocument();
  expect(agent.getByText("api.anthropic.com")).toBeInTheDocument();
  const servers = within(screen.getByRole("region", { name: "MCP servers" }));
  expect(servers.getByRole("region", { name: "cal" })).toBeInTheDocument();
  expect(servers.queryByRole("region", { name: "claude-code" })).toBeNull();
});

test("test start tells whether the agent starts", async () => {
  const host = hostWith(anAgent());
  host.answers["extensions.review"] = () => aToolsPage({ page: { extension: "claude-code", server } });
  const { user } = renderApp("/tools", host);
  await user.click(await screen.findByRole("button", { name: "More actions of claude-code" }));
  expect(screen.queryByRole("menuitem", { name: /^Restart/ })).toBeNull();
  await user.click(await screen.findByRole("menuitem", { name: /^Test start/ }));
  expect(await screen.findByText(/claude-code started and can work on tasks\./)).toBeInTheDocument();
  host.answers["extensions.review"] = () => Promise.reject(new RpcError(errorCode.conflict, "It ended."));
  await user.click(screen.getByRole("button", { name: "Done" }));
  await user.click(screen.getByRole("button", { name: "More actions of claude-code" }));
  await user.click(await screen.findByRole("menuitem", { name: /^Test start/ }));
  expect(await screen.findByRole("alert")).toHaveTextContent("claude-code did not start.It ended.");
});

test("changed agent stays a coding agent", async () => {
  const host = hostWith(anAgent());
  host.answers["extensions.preview"] = (draft) => ({
    extension: draft.name,
    server: draft.server,
    replaces: server,
    tools: [],
    hash: "12".repeat(32),
  });
  const { user } = renderApp("/tools", host);
  await user.click(await screen.findByRole("button", { name: "More actions of claude-code" }));
  await user.click(await screen.findByRole("menuitem", { name: /^Change/ }));
  const form = within(await screen.findByRole("form", { name: "Coding agent" }));
  expect(screen.queryByRole("radio", { name: "URL" })).toBeNull();
  await user.click(form.getByRole("button", { name: /^Advanced/ }));
  const mode = await form.findByRole("textbox", { name: "Session mode" });
  expect(mode).toHaveValue("default");
  await user.clear(mode);
  await user.type(mode, "plan");
  await user.click(screen.getByRole("button", { name: "Continue" }));
  await screen.findByRole("dialog", { name: "Update claude-code?" });
  expect(host.called("extensions.preview")).toEqual([{ name: "claude-code", server: { ...server, mode: "plan" } }]);
});

test("agent is switched off and removed", async () => {
  const host = hostWith(anAgent());
  host.answers["extensions.setEnabled"] = () => ({ changed: true });
  host.answers["extensions.remove"] = () => ({ revokedGrants: 0, manualCleanup: null });
  const { user } = renderApp("/tools", host);
  await user.click(await screen.findByRole("switch", { name: "Use claude-code in runs" }));
  await waitFor(() => expect(host.called("extensions.setEnabled")).toEqual([{ name: "claude-code", enabled: false }]));
  await user.click(screen.getByRole("button", { name: "More actions of claude-code" }));
  await user.click(await screen.findByRole("menuitem", { name: /^Remove/ }));
  const dialog = within(await screen.findByRole("alertdialog", { name: "Remove “claude-code”?" }));
  expect(dialog.getByText(/your sign-in stays/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  expect(await (await section()).findByText(/“claude-code” was removed\./)).toBeInTheDocument();
});

test("empty section offers to add an agent", async () => {
  renderApp("/tools", hostWith(anExtension()));
  const agents = await section();
  expect(await agents.findByRole("heading", { name: "No coding agents yet" })).toBeInTheDocument();
  expect(agents.getAllByRole("button", { name: "Add a coding agent" })).toHaveLength(1);
});

test("search finds an agent by name and hides the others", async () => {
  const { user } = renderApp("/tools", hostWith(anAgent(), anAgent({ name: "codex" })));
  await (await section()).findByRole("region", { name: "codex" });
  const search = screen.getByRole("searchbox", { name: "Search tools" });
  await user.type(search, "claude");
  expect((await section()).queryByRole("region", { name: "codex" })).toBeNull();
  expect(screen.queryByRole("heading", { name: "No matching tools" })).toBeNull();
  await user.type(search, "x");
  expect(screen.queryByRole("region", { name: "Coding agents" })).toBeNull();
});

test("failed list shows why at both sections", async () => {
  const host = hostWith();
  host.answers["extensions.list"] = () => Promise.reject(new RpcError(errorCode.conflict, "The record is unreadable."));
  renderApp("/tools", host);
  const agents = await section();
  expect(await agents.findByText(/Could not load coding agents\./)).toBeInTheDocument();
  expect(agents.getByText(/The record is unreadable\./)).toBeInTheDocument();
});
