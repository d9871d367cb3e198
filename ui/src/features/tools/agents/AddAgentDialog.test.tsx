import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { type ConsentPage, errorCode, type ExtensionView, RpcError, type ServerToolsPage } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { anExtension, aPreset, aToolsPage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

type User = ReturnType<typeof renderApp>["user"];

const hash = "12".repeat(32);

function hostWith(notes: string[] = [], extensions: ExtensionView[] = []): FakeHost {
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.list": () => ({ extensions }),
    "agents.presets": () => ({
      presets: [
        aPreset(),
        aPreset(
          { name: "goose", label: "Goose", source: undefined, signIn: "Run `goose configure` once." },
          { command: "goose", arguments: ["acp"], environment: { GOOSE_MODE: "approve" }, hosts: [] },
        ),
      ],
    }),
    "extensions.preview": ({ name, server }): ConsentPage => ({ extension: name, server, notes, tools: [], hash }),
    "extensions.install": ({ name, server }): ServerToolsPage => aToolsPage({ page: { extension: name, server } }),
  });
}

async function open(user: User) {
  await user.click(await screen.findByRole("button", { name: "Add a coding agent" }));
  return within(await screen.findByRole("dialog", { name: "Add a coding agent" }));
}

async function choose(user: User, agent: string) {
  await user.click(await (await open(user)).findByRole("button", { name: agent }));
}

const proceed = (user: User) => user.click(screen.getByRole("button", { name: "Continue" }));

async function install(user: User) {
  const button = await screen.findByRole("button", { name: "Install" });
  await waitFor(() => expect(button).toBeEnabled());
  await user.click(button);
}

test("known agent is installed with its sign-in and hosts", async () => {
  const notes = ["Its permission requests become approvals.", "It asks before it changes `files`."];
  const host = hostWith(notes);
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  expect(await screen.findByRole("dialog", { name: "Add Claude Code" })).toBeInTheDocument();
  expect(screen.getByRole("checkbox", { name: "Use my sign-in (~/.claude)" })).toBeChecked();
  expect(screen.getByRole("checkbox", { name: "Reach api.anthropic.com, claude.ai" })).toBeChecked();
  await proceed(user);
  const consent = within(await screen.findByRole("dialog", { name: "Install claude-code?" }));
  const before = within(consent.getByRole("group", { name: "Before you accept" }));
  expect(before.getByText("Its permission requests become approvals.")).toBeInTheDocument();
  expect(before.getByText("files", { selector: "code" })).toBeInTheDocument();
  expect(consent.getByText(/It gets no task then\.$/)).toBeInTheDocument();
  expect(consent.getByText("Session mode").nextSibling).toHaveTextContent("default");
  expect(consent.getByText("Silence limit").nextSibling).toHaveTextContent("600 s");
  expect(consent.getByText("Starts in").nextSibling).toHaveTextContent("The folder of its task");
  await install(user);
  expect(await screen.findByText(/claude-code started and can work on tasks\./)).toBeInTheDocument();
  expect(screen.getByText("claude", { selector: "code" }).parentElement).toHaveTextContent(
    "Not signed in yet? Sign in once with claude.",
  );
  expect(host.called("extensions.install")).toEqual([{ name: "claude-code", server: aPreset().server, accept: hash }]);
  await user.click(screen.getByRole("button", { name: "Done" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
});

test("sign-in and hosts can be left out", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  await user.click(await screen.findByRole("checkbox", { name: /^Use my sign-in/ }));
  await user.click(screen.getByRole("checkbox", { name: /^Reach / }));
  await proceed(user);
  await screen.findByRole("dialog", { name: "Install claude-code?" });
  expect(host.called("extensions.preview")).toMatchObject([
    { server: { transport: { environment: {}, folders: [], hosts: [] } } },
  ]);
});

const missingProgram = new RpcError(errorCode.invalidParams, "invalid", {
  fields: [{ path: "server.transport.command", message: "claude-agent-acp is not in PATH" }],
});

test("package is proposed without the program", async () => {
  const host = hostWith();
  const preview = host.answers["extensions.preview"]!;
  host.answers["extensions.preview"] = (params) => (params.source ? preview(params) : Promise.reject(missingProgram));
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  expect(await screen.findByRole("radio", { name: "Program on this computer" })).toBeChecked();
  await proceed(user);
  await screen.findByRole("dialog", { name: "Install claude-code?" });
  expect(host.called("extensions.preview").at(-1)).toMatchObject({
    source: { kind: "npm", package: "@acp/claude", version: "0.101.0", program: "claude-agent-acp" },
    server: { protocol: "acp", transport: { command: "" } },
  });
  await user.click(screen.getByRole("button", { name: "Back" }));
  expect(await screen.findByRole("radio", { name: "npm package" })).toBeChecked();
  expect(
    screen.getByText(/is not on this computer, so Rouse installs npm package @acp\/claude 0\.101\.0\./),
  ).toBeInTheDocument();
});

test("chosen program that is missing shows the problem", async () => {
  const host = hostWith();
  host.answers["extensions.preview"] = () => Promise.reject(missingProgram);
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  await user.click(await screen.findByRole("radio", { name: "npm package" }));
  await user.click(screen.getByRole("radio", { name: "Program on this computer" }));
  await proceed(user);
  expect(await screen.findByRole("alert")).toHaveTextContent("Claude-agent-acp is not in PATH.");
  expect(host.called("extensions.preview")).toHaveLength(1);
});

test("missing settings folder shows at the sign-in", async () => {
  const host = hostWith();
  host.answers["extensions.preview"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "invalid", {
        fields: [{ path: "server.transport.folders[0]", message: "~/.claude does not exist" }],
      }),
    );
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  await proceed(user);
  expect((await screen.findAllByText("~/.claude does not exist.")).length).toBeGreaterThan(0);
  expect(screen.getByRole("alert")).toHaveTextContent("~/.claude does not exist.");
});

test("agent without hosts asks for those of the provider", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await choose(user, "Goose");
  expect(screen.queryByRole("radio")).not.toBeInTheDocument();
  await user.click(await screen.findByRole("textbox", { name: "Hosts" }));
  await user.paste("api.provider.example");
  await proceed(user);
  await screen.findByRole("dialog", { name: "Install goose?" });
  expect(host.called("extensions.preview")).toMatchObject([
    { server: { transport: { command: "goose", arguments: ["acp"], hosts: ["api.provider.example"] } } },
  ]);
});

test("another agent starts with an own command", async () => {
  const host = hostWith();
  host.answers["agents.presets"] = () => Promise.reject(new RpcError(errorCode.conflict, "The engine is busy."));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  expect(await dialog.findByText(/The engine is busy\./)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Another agent…" }));
  const command = await screen.findByRole("textbox", { name: "Command" });
  await waitFor(() => expect(command).toHaveFocus());
  await user.paste("/opt/my-agent --acp");
  await user.type(screen.getByRole("textbox", { name: "Name" }), "mine");
  await proceed(user);
  await screen.findByRole("dialog", { name: "Install mine?" });
  const [{ server }] = host.called("extensions.preview") as [{ server: unknown }];
  expect(server).toEqual({
    protocol: "acp",
    transport: {
      kind: "stdio",
      command: "/opt/my-agent",
      arguments: ["--acp"],
      environment: {},
      folders: [],
      hosts: [],
      isUnconfined: false,
    },
  });
});

test("agent that did not start says why", async () => {
  const host = hostWith();
  host.answers["extensions.install"] = ({ name, server }) =>
    aToolsPage({ page: { extension: name, server }, error: "It ended with status 3." });
  const { user } = renderApp("/tools", host);
  await choose(user, "Claude Code");
  await proceed(user);
  await install(user);
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("claude-code is installed, but did not start.It ended with status 3.");
});

test("installed agent is marked and gets another name", async () => {
  const host = hostWith([], [anExtension({ name: "claude-code", isCodingAgent: true })]);
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const card = await dialog.findByRole("button", { name: "Claude Code" });
  expect(card).toHaveAccessibleDescription(/^Installed/);
  expect(card).toHaveAccessibleDescription(/It asks before it changes files\./);
  await user.click(card);
  expect(await screen.findByRole("textbox", { name: "Name" })).toHaveValue("claude-code-2");
});
