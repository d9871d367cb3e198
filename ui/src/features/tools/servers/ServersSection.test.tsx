import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { errorCode, type ExtensionView, RpcError, type ServerState, type ToolAccess } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import {
  aDefinition,
  anExtension,
  anExtensionDetail,
  aServerTool,
  aTool,
  aToolDefinition,
  aToolsPage,
} from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function pin(name: string, access: ToolAccess) {
  return { definition: aToolDefinition({ name, description: `Does ${name}.` }), hash: "", access, acceptedAtMs: 0 };
}

const detail = anExtensionDetail({
  tools: ["list_events", "delete.all"].map((rawName) => ({ rawName, toolName: `cal_${rawName.replace(".", "_")}` })),
  status: { state: "ready", stderrTail: "listening\u202e" },
  extension: {
    server: aDefinition({
      isUnconfined: true,
      environment: { TOKEN: "{{secret:cal}}" },
      arguments: ["a b", "x".repeat(300)],
    }),
    tools: [pin("list_events", "readsOnly"), pin("delete.all", "off")],
    held: [{ change: "changed", accepted: aToolDefinition(), offered: aToolDefinition({ description: "Other." }) }],
  },
});

function hostWith(...extensions: ExtensionView[]) {
  return fakeHost({
    "tools.catalog": () => ({
      tools: [aTool(), aServerTool("list_events", { approval: "never" })],
      refused: [
        { name: "cal_odd", reason: "Its schema has an unresolvable `$ref`." },
        { name: "gone_odd", reason: "Its name is invalid." },
      ],
    }),
    "extensions.list": () => ({ extensions }),
    "extensions.get": ({ name }) => (name === "cal" ? detail : anExtensionDetail({ name })),
  });
}

const server = async (name = "cal") => within(await screen.findByRole("region", { name }));

test("server shows state, rights, version and tools", async () => {
  renderApp("/tools", hostWith(anExtension({ held: 1, reason: "Its `config` is old." })));
  const cal = await server();
  expect(cal.getByText("Ready")).toBeInTheDocument();
  expect(cal.getByText("Calendar 1.2.0")).toBeInTheDocument();
  expect(cal.getByText("config", { selector: "code" })).toBeInTheDocument();
  expect(await cal.findByText("Your own rights")).toBeInTheDocument();
  const rows = cal.getByRole("list", { name: "Tools of cal" }).children;
  expect([...rows].map((row) => row.textContent)).toEqual([
    expect.stringMatching(/^cal_list_eventsDoes list_events\.Changed/),
    expect.stringMatching(/^cal_delete_allDoes delete\.all\./),
  ]);
  expect(cal.getByRole("link", { name: "cal_list_events" })).toHaveAttribute("href", "/tools/cal_list_events");
  expect(cal.queryByRole("link", { name: "cal_delete_all" })).not.toBeInTheDocument();
});

test.each<[ServerState, string]>([
  ["off", "Off"],
  ["starting", "Starting"],
  ["needsSignIn", "Needs sign-in"],
  ["broken", "Broken"],
  ["quarantined", "Quarantined"],
])("state %s shows as %s", async (state, word) => {
  const label = word.toLowerCase();
  renderApp("/tools", hostWith(anExtension({ state, label })));
  const heading = (await server()).getByRole("heading", { name: "cal" });
  expect(heading.nextElementSibling).toHaveTextContent(word);
});

test("gone tool is marked and the effect is explained", async () => {
  const host = hostWith(anExtension());
  const gone = ["delete.all"];
  host.answers["extensions.get"] = () => ({ ...detail, extension: { ...detail.extension, gone } });
  const { user } = renderApp("/tools", host);
  const cal = await server();
  const rows = (await cal.findByRole("list", { name: "Tools of cal" })).children;
  expect([...rows].map((row) => row.textContent.includes("Not offered now"))).toEqual([false, true]);
  const help = "Runs that name a tool marked “Not offered now” fail until the server offers the tool again.";
  expect(cal.getByText(help)).toBeInTheDocument();
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "list_ev");
  expect((await server()).queryByText(help), "no shown tool is gone").not.toBeInTheDocument();
});

test("refused tool shows its reason at its server", async () => {
  renderApp("/tools", hostWith(anExtension()));
  const cal = await server();
  const refused = cal.getByRole("list", { name: "Tools not offered" });
  expect(refused).toHaveTextContent("cal_odd is not offered. Its schema has an unresolvable $ref.");
  expect(refused).not.toHaveTextContent("gone_odd");
  expect(screen.getByText(/Its name is invalid\./)).toBeInTheDocument();
});

test("details show the whole command and the error output", async () => {
  const { user } = renderApp("/tools", hostWith(anExtension()));
  const cal = await server();
  await cal.findByRole("list", { name: "Tools of cal" });
  await user.click(cal.getByRole("button", { name: /^Details/ }));
  expect(cal.getByRole("region", { name: "Command" })).toHaveTextContent(
    `/usr/bin/cal-server 'a b' ${"x".repeat(300)}`,
  );
  expect(cal.getByText("cal in TOKEN")).toBeInTheDocument();
  expect(cal.getByText(/^With your own rights: it can read/)).toBeInTheDocument();
  expect(cal.getByRole("region", { name: "Error output" })).toHaveTextContent("listening⟨U+202E⟩");
});

test("access of a tool changes and a failure shows", async () => {
  const host = hostWith(anExtension());
  host.answers["extensions.setAccess"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The file is read-only."));
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(await cal.findByRole("button", { name: /Access of cal_delete_all/ }));
  await user.click(await screen.findByRole("option", { name: "Always ask" }));
  await waitFor(() =>
    expect(host.called("extensions.setAccess")).toEqual([{ name: "cal", tool: "delete.all", access: "alwaysAsk" }]),
  );
  expect(await cal.findByText("The file is read-only.")).toBeInTheDocument();
  expect(cal.getByRole("button", { name: /Access of cal_delete_all/ })).toHaveTextContent("Off");
});

test("switch disables a server and refetches", async () => {
  const host = hostWith();
  let isEnabled = true;
  host.answers["extensions.list"] = () => ({ extensions: [anExtension({ isEnabled })] });
  host.answers["extensions.setEnabled"] = ({ enabled }) => {
    isEnabled = enabled;
    return { changed: true };
  };
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(cal.getByRole("switch", { name: "Use cal in runs" }));
  expect(await cal.findByText("Disabled")).toBeInTheDocument();
  expect(cal.getByRole("switch")).not.toBeChecked();
  expect(host.called("extensions.setEnabled")).toEqual([{ name: "cal", enabled: false }]);
});

test("restart failure shows at the server", async () => {
  const host = hostWith(anExtension());
  host.answers["extensions.restart"] = () => Promise.reject(new RpcError(errorCode.conflict, "It is gone."));
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(cal.getByRole("button", { name: "More actions of cal" }));
  await user.click(await screen.findByRole("menuitem", { name: "Restart" }));
  expect(await cal.findByRole("alert")).toHaveTextContent("It is gone.");
});

test("removal asks and names the rest", async () => {
  const host = hostWith();
  let extensions = [anExtension()];
  host.answers["extensions.list"] = () => ({ extensions });
  host.answers["extensions.remove"] = () => {
    extensions = [];
    return { revokedGrants: 2, manualCleanup: "Delete /data/cal." };
  };
  const { user } = renderApp("/tools", host);
  const cal = await server();
  await user.click(cal.getByRole("button", { name: "More actions of cal" }));
  await user.click(await screen.findByRole("menuitem", { name: "Remove" }));
  const question = within(await screen.findByRole("alertdialog", { name: "Remove “cal”?" }));
  expect(host.called("extensions.remove")).toEqual([]);
  await user.click(question.getByRole("button", { name: "Remove" }));
  expect(await screen.findByText("“cal” was removed. 2 grants revoked. Delete /data/cal.")).toBeInTheDocument();
  expect(await screen.findByRole("heading", { name: "No MCP servers yet" })).toBeInTheDocument();
});

test("review accepts the shown page with the choices", async () => {
  const host = hostWith(anExtension({ held: 2 }));
  const offered = aToolDefinition({
    name: "send",
    description: "Sends.\u200b Copies to me.",
    hints: { destructive: true },
  });
  host.answers["extensions.review"] = () =>
    aToolsPage({
      page: {
        tools: [
          { change: "new", offered: aToolDefinition({ name: "list" }) },
          { change: "changed", accepted: aToolDefinition({ name: "send", description: "Sends.", hints: {} }), offered },
        ],
      },
      proposals: { list: "readsOnly", send: "ask" },
      refused: [{ name: "odd", reason: "Its name is invalid." }],
      instructions: "Call me first.",
    });
  host.answers["extensions.accept"] = () => detail;
  const { user } = renderApp("/tools", host);
  await user.click((await server()).getByRole("button", { name: "Review 2 tools of cal" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Tools of cal" }));
  const send = within(await dialog.findByRole("article", { name: "send" }));
  expect(send.getByText("Changed since you accepted it")).toBeInTheDocument();
  expect(send.getByText("may delete or overwrite")).toBeInTheDocument();
  expect(send.getAllByText("1 invisible character shown by code point.")).not.toHaveLength(0);
  const difference = send.getByRole("region", { name: "Difference of send" });
  expect(difference).toHaveTextContent(/Removed: -Sends\./);
  expect(difference).toHaveTextContent(/Added: \+Sends\.⟨U\+200B⟩ Copies to me\./);
  expect(dialog.getByText(/is not offered\. Its name is invalid\./)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: /^Instructions of the server/ }));
  expect(dialog.getByText("Call me first.")).toBeInTheDocument();
  expect(send.getByRole("radio", { name: "Ask" })).toBeChecked();
  await user.click(send.getByRole("radio", { name: "Always ask" }));
  const accept = dialog.getByRole("button", { name: "Accept" });
  await waitFor(() => expect(accept).toBeEnabled());
  await user.click(accept);
  await waitFor(() =>
    expect(host.called("extensions.accept")).toEqual([
      { name: "cal", accept: "cd".repeat(32), access: { list: "readsOnly", send: "alwaysAsk" } },
    ]),
  );
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
});

test("failed review keeps the dialog and can be repeated", async () => {
  const host = hostWith(anExtension({ held: 1 }));
  host.answers["extensions.review"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "cal did not start. Read `rouse extensions logs cal`."));
  const { user } = renderApp("/tools", host);
  await user.click((await server()).getByRole("button", { name: "Review 1 tool of cal" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Tools of cal" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("cal did not start. Read rouse extensions logs cal.");
  host.answers["extensions.review"] = () => aToolsPage();
  await user.click(dialog.getByRole("button", { name: "Try again" }));
  expect(await dialog.findByText("No tool of cal waits for you.")).toBeInTheDocument();
});

test("search shows matching tools of servers only", async () => {
  const { user } = renderApp("/tools", hostWith(anExtension(), anExtension({ name: "mail" })));
  await (await server()).findByRole("list", { name: "Tools of cal" });
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "list_ev");
  expect((await server()).queryByText("cal_delete_all")).not.toBeInTheDocument();
  expect(screen.getByText("cal_list_events")).toBeInTheDocument();
  expect(screen.queryByRole("region", { name: "mail" })).not.toBeInTheDocument();
});

test("failed list can be loaded again", async () => {
  const host = hostWith();
  host.answers["extensions.list"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "extensions.lock is damaged."));
  const { user } = renderApp("/tools", host);
  const section = within(await screen.findByRole("region", { name: "MCP servers" }));
  expect(await section.findByRole("alert")).toHaveTextContent("extensions.lock is damaged.");
  host.answers["extensions.list"] = () => ({ extensions: [anExtension()] });
  await user.click(section.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("region", { name: "cal" })).toBeInTheDocument();
});

test("starting server is refetched until it has started", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  try {
    const host = hostWith(anExtension({ state: "starting", label: "starting" }));
    renderApp("/tools", host);
    const cal = await server();
    expect(cal.getByText("Starting")).toBeInTheDocument();
    host.answers["extensions.list"] = () => ({ extensions: [anExtension()] });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await cal.findByText("Ready")).toBeInTheDocument();
    const asked = host.called("extensions.list").length;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(host.called("extensions.list")).toHaveLength(asked);
  } finally {
    vi.useRealTimers();
  }
});

test("server tool can be tried and its access changed", async () => {
  const host = hostWith(anExtension());
  host.answers["grants.list"] = () => ({ grants: [] });
  host.answers["tools.try"] = () => ({ runId: "r1" });
  host.answers["extensions.setAccess"] = () => ({ changed: true });
  const { user } = renderApp("/tools/cal_list_events", host);
  const form = within(await screen.findByRole("form", { name: "Try cal_list_events" }));
  expect(form.getByText(/Starts the MCP server cal if needed\./)).toBeInTheDocument();
  expect(screen.getByText("Comes from the extension cal.")).toBeInTheDocument();
  await user.type(form.getByRole("textbox", { name: "url" }), "https://example.org{Enter}");
  await waitFor(() =>
    expect(host.called("tools.try")).toEqual([{ tool: "cal_list_events", arguments: { url: "https://example.org" } }]),
  );
  await user.click(screen.getByRole("button", { name: /Access/ }));
  await user.click(await screen.findByRole("option", { name: "Ask" }));
  await waitFor(() =>
    expect(host.called("extensions.setAccess")).toEqual([{ name: "cal", tool: "list_events", access: "ask" }]),
  );
});
