import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError, type SecretView, type ServerDefinition, type ServerToolsPage } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDefinition, anExtension, anExtensionDetail, aToolDefinition, aToolsPage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

type User = ReturnType<typeof renderApp>["user"];

const hash = "12".repeat(32);

function hostWith(page: ServerToolsPage = aToolsPage()) {
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "extensions.preview": ({ name, server }) => ({ extension: name, server: resolved(server), tools: [], hash }),
    "extensions.install": () => page,
  });
}

/** The engine replaces a program by its absolute path. */
function resolved(server: ServerDefinition): ServerDefinition {
  const { transport } = server;
  return transport.kind !== "stdio"
    ? server
    : { ...server, transport: { ...transport, command: `/usr/bin/${transport.command}` } };
}

async function open(user: User) {
  const [button] = await screen.findAllByRole("button", { name: "Add MCP server" });
  await user.click(button!);
  return within(await screen.findByRole("dialog", { name: "Add MCP server" }));
}

/** Pastes the text, which is faster than typing. */
async function write(user: User, label: string, text: string) {
  await user.click(screen.getByRole("textbox", { name: label }));
  await user.paste(text);
}

async function proceed(user: User) {
  await user.click(screen.getByRole("button", { name: "Continue" }));
  return within(await screen.findByRole("dialog", { name: /^(Install|Update) cal\?$/ }));
}

async function install(user: User) {
  const button = screen.getByRole("button", { name: "Install" });
  await waitFor(() => expect(button).toBeEnabled());
  await user.click(button);
}

test("server is installed after consent and its tools accepted", async () => {
  const page = aToolsPage({
    page: { tools: [{ change: "new", offered: aToolDefinition({ name: "list" }) }] },
    proposals: { list: "readsOnly" },
  });
  const host = hostWith(page);
  let finish: (page: ServerToolsPage) => void = () => undefined;
  host.answers["extensions.install"] = () => new Promise((resolve) => (finish = resolve));
  host.answers["extensions.accept"] = () => anExtensionDetail();
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", `npx @x/cal-server@1.0.0 'two words' ${"y".repeat(300)}`);
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("cal");
  await write(user, "Folders", "~/Notes:write");
  await write(user, "Hosts", "api.example.org");
  const consent = await proceed(user);
  expect(consent.getByRole("region", { name: "Command" })).toHaveTextContent(
    `/usr/bin/npx @x/cal-server@1.0.0 'two words' ${"y".repeat(300)}`,
  );
  for (const text of ["A package that npx downloads.", "~/Notes (read and write)", "api.example.org", hash])
    expect(consent.getByText(text)).toBeInTheDocument();
  expect(consent.getByText(/^Confined: it reaches its private folder/)).toBeInTheDocument();
  expect(host.called("extensions.install")).toEqual([]);
  await install(user);
  expect(await screen.findByText("Starting cal …")).toBeInTheDocument();
  expect(host.called("extensions.install")).toEqual([
    {
      name: "cal",
      server: aDefinition({
        command: "/usr/bin/npx",
        arguments: ["@x/cal-server@1.0.0", "two words", "y".repeat(300)],
        folders: ["~/Notes:write"],
        hosts: ["api.example.org"],
      }),
      accept: hash,
    },
  ]);
  finish(page);
  expect(await screen.findByRole("article", { name: "list" })).toHaveTextContent("Lists the events of a day.");
  const accept = screen.getByRole("button", { name: "Accept" });
  await waitFor(() => expect(accept).toBeEnabled());
  await user.click(accept);
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  expect(host.called("extensions.accept")).toEqual([
    { name: "cal", accept: "cd".repeat(32), access: { list: "readsOnly" } },
  ]);
});

test("notes of the page are shown before the permissions", async () => {
  const host = hostWith();
  const notes = ["It reads `~/Mail`.\u202e", "It sends mail."];
  host.answers["extensions.preview"] = ({ name, server }) => ({ extension: name, server, notes, tools: [], hash });
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", "cal");
  const consent = await proceed(user);
  const before = consent.getByRole("group", { name: "Before you accept" });
  expect(before).toHaveTextContent("It reads ~/Mail.⟨U+202E⟩It sends mail.");
  const rights = consent.getByText("Rights");
  expect(before.compareDocumentPosition(rights) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
});

test("own rights are off by default and shown as a warning", async () => {
  const { user } = renderApp("/tools", hostWith());
  await open(user);
  await write(user, "Server source", "cal");
  const own = screen.getByRole("switch", { name: "Run with your own rights" });
  expect(own).not.toBeChecked();
  await user.click(own);
  const consent = await proceed(user);
  expect(consent.getByText(/^With your own rights: it can read, change and send/)).toBeInTheDocument();
  expect(consent.queryByText(/^Confined/)).not.toBeInTheDocument();
});

test("address has headers instead of permissions", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", "https://mcp.cal.example/v1");
  expect(screen.queryByRole("textbox", { name: "Hosts" })).not.toBeInTheDocument();
  await write(user, "Headers", "X-Key: {{secret:cal}}");
  const consent = await proceed(user);
  expect(consent.getByRole("region", { name: "Address" })).toHaveTextContent("https://mcp.cal.example/v1");
  expect(consent.getByText("cal in X-Key")).toBeInTheDocument();
});

test("pasted document fills the fields of the chosen server", async () => {
  const { user } = renderApp("/tools", hostWith());
  const dialog = await open(user);
  const document = {
    mcpServers: {
      cal: { command: "cal", args: ["--stdio"], env: { MODE: "x" }, oauth: {} },
      docs: { url: "https://d.example" },
    },
  };
  await write(user, "Server source", JSON.stringify(document));
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("cal --stdio");
  expect(screen.getByRole("textbox", { name: "Variables" })).toHaveValue("MODE=x");
  expect(dialog.getByText("Filled in from the pasted document. Without effect: oauth.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /Server of the document/ }));
  await user.click(await screen.findByRole("option", { name: "docs" }));
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("https://d.example");
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("docs");
});

test("problems of the form and of the engine show at the fields", async () => {
  const host = hostWith();
  host.answers["extensions.preview"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "invalid", {
        fields: [{ path: "server.transport.hosts", message: "expected a host, found `*`" }],
      }),
    );
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  await user.click(dialog.getByRole("button", { name: "Continue" }));
  expect(dialog.getByText("Add a package with a version, a command or a URL.")).toBeInTheDocument();
  expect(host.called("extensions.preview")).toEqual([]);
  await write(user, "Server source", "cal");
  await write(user, "Hosts", "*");
  await user.click(dialog.getByRole("button", { name: "Continue" }));
  await waitFor(() => expect(screen.getByRole("textbox", { name: "Hosts" })).toBeInvalid());
  expect(dialog.getByText(/^Expected a host, found/)).toBeInTheDocument();
});

test("key in plain text shows its remedy at the variables", async () => {
  const host = hostWith();
  const remedy =
    "Store it as a secret: rouse secrets set cal_token --server cal. Then write TOKEN={{secret:cal_token}}.";
  const message = `The value of TOKEN looks like a key. ${remedy}`;
  const fields = [{ path: "server.transport.environment.TOKEN", message }];
  host.answers["extensions.preview"] = () =>
    Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields }));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  await write(user, "Server source", "cal");
  await write(user, "Variables", "TOKEN=ghp_1");
  await user.click(dialog.getByRole("button", { name: "Continue" }));
  await waitFor(() => expect(screen.getByRole("textbox", { name: "Variables" })).toBeInvalid());
  const shown =
    "The value of TOKEN looks like a key. Write TOKEN={{secret:cal_token}}. The next page asks for the value.";
  expect(dialog.getByText(shown)).toBeInTheDocument();
});

test("error without a field stays in the dialog", async () => {
  const host = hostWith();
  host.answers["extensions.preview"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "extensions.lock is damaged. Restore it."));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  await write(user, "Server source", "cal");
  await user.click(dialog.getByRole("button", { name: "Continue" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("extensions.lock is damaged. Restore it.");
});

test("missing secret is stored for the server", async () => {
  const host = hostWith();
  const stored = { setAtMs: 0, storedIn: "keyring" as const, problem: null, warning: null, hosts: [] };
  let secrets: SecretView[] = [
    { ...stored, name: "bound", servers: ["cal"] },
    { ...stored, name: "other", servers: ["mail"] },
  ];
  host.answers["secrets.list"] = () => ({ secrets, warning: null });
  host.answers["secrets.set"] = ({ name, servers = [] }) => {
    const secret = { ...stored, name, servers };
    secrets = [...secrets.filter((one) => one.name !== name), secret];
    return secret;
  };
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", "cal");
  await write(user, "Variables", "A={{secret:bound}}\nB={{secret:other}}");
  const consent = await proceed(user);
  expect(await consent.findByText("Stored, but not for cal. Enter the value to allow it.")).toBeInTheDocument();
  await user.type(consent.getByLabelText("Value of other"), "v4lue{Enter}");
  await waitFor(() => expect(consent.getAllByText(/is stored for cal\./)).toHaveLength(2));
  expect(host.called("secrets.set")).toEqual([{ name: "other", value: "v4lue", servers: ["mail", "cal"] }]);
});

test("server that does not start stays installed and can be tried again", async () => {
  const host = hostWith(aToolsPage({ error: "cal exited with status 1. See `rouse extensions logs cal`." }));
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", "cal");
  await proceed(user);
  await install(user);
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("cal is installed, but its server is not available.");
  expect(alert).toHaveTextContent("cal exited with status 1. See rouse extensions logs cal.");
  host.answers["extensions.review"] = () => aToolsPage();
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByText("No tool of cal waits for you.")).toBeInTheDocument();
});

test("refused installation returns to the page with the reason", async () => {
  const host = hostWith();
  host.answers["extensions.install"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The page has changed. Read it again."));
  const { user } = renderApp("/tools", host);
  await open(user);
  await write(user, "Server source", "cal");
  await proceed(user);
  await install(user);
  expect(await screen.findByRole("alert")).toHaveTextContent("The page has changed. Read it again.");
  await user.click(screen.getByRole("button", { name: "Back" }));
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("cal");
  await proceed(user);
  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
});

test("change of a server shows what is installed now", async () => {
  const host = hostWith();
  const installed = aDefinition({ hosts: ["old.example"] });
  host.answers["extensions.list"] = () => ({ extensions: [anExtension()] });
  host.answers["extensions.get"] = () => anExtensionDetail({ extension: { server: installed } });
  host.answers["extensions.preview"] = ({ name, server }) => ({
    extension: name,
    server,
    replaces: installed,
    tools: [],
    hash,
  });
  const { user } = renderApp("/tools", host);
  const cal = within(await screen.findByRole("region", { name: "cal" }));
  await cal.findByText("No accepted tools.");
  await user.click(cal.getByRole("button", { name: "More actions of cal" }));
  await user.click(await screen.findByRole("menuitem", { name: "Change" }));
  expect(await screen.findByRole("textbox", { name: "Name" })).toBeDisabled();
  const hosts = screen.getByRole("textbox", { name: "Hosts" });
  expect(hosts).toHaveValue("old.example");
  await user.clear(hosts);
  await write(user, "Hosts", "new.example");
  const consent = await proceed(user);
  const before = within(consent.getByRole("group", { name: "Installed now" }));
  expect(before.getByText("old.example")).toBeInTheDocument();
  expect(before.queryByText("Command")).not.toBeInTheDocument();
  expect(consent.getByText("new.example")).toBeInTheDocument();
  expect(consent.getByRole("button", { name: "Update" })).toBeInTheDocument();
});
