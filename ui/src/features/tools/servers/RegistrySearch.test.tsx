import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { type ConfigView, errorCode, RpcError, type RegistryServerView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

type User = ReturnType<typeof renderApp>["user"];

const registry = "https://registry.example.org";
const npm = { registryType: "npm", identifier: "@x/cal", version: "1.2.3", transport: { type: "stdio" } };
const remote = { type: "streamable-http", url: "https://mcp.example.org/v1" };

function anEntry(parts: Partial<RegistryServerView> = {}): RegistryServerView {
  return {
    name: "io.example/cal",
    description: "Reads your calendar.",
    version: "1.2.3",
    isDeprecated: false,
    source: "npm package @x/cal@1.2.3",
    document: JSON.stringify({ name: "io.example/cal", packages: [npm], remotes: [remote] }),
    ...parts,
  };
}

function hostWith(servers: RegistryServerView[] = [anEntry()], address: string | null = registry) {
  let config: ConfigView = aConfig({ registries: { servers: address, skills: null } });
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "config.get": () => config,
    "config.patch": ({ patch }) =>
      (config = aConfig({ registries: { skills: null, ...(patch.registries as object) } as ConfigView["registries"] })),
    "extensions.search": () => ({ registry, servers }),
  });
}

async function open(user: User) {
  const [button] = await screen.findAllByRole("button", { name: "Add MCP server" });
  await user.click(button!);
  await user.click(await screen.findByRole("radio", { name: "Registry" }));
  return within(screen.getByRole("dialog"));
}

async function search(user: User, words = "cal") {
  const dialog = await open(user);
  await user.type(await dialog.findByRole("textbox", { name: "Search the registry" }), `${words}{Enter}`);
  return within(await dialog.findByRole("list", { name: "Servers of the registry" }));
}

test("registry without an address is named before a search", async () => {
  const host = hostWith([], null);
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const address = await dialog.findByRole("textbox", { name: "Registry address" });
  expect(address).toHaveFocus();
  expect(dialog.queryByRole("textbox", { name: "Search the registry" })).not.toBeInTheDocument();
  await user.type(address, `${registry}{Enter}`);
  expect(await dialog.findByRole("textbox", { name: "Search the registry" })).toHaveFocus();
  expect(host.called("config.patch")).toEqual([{ patch: { registries: { servers: registry } } }]);
  expect(host.called("extensions.search")).toEqual([]);
});

test("refused address shows at the field", async () => {
  const host = hostWith([], null);
  const fields = [{ path: "registries.servers", message: "must begin with https://" }];
  host.answers["config.patch"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "invalid", { fields }));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const address = await dialog.findByRole("textbox", { name: "Registry address" });
  await user.type(address, "http://registry.example.org{Enter}");
  await waitFor(() => expect(address).toHaveAccessibleDescription("This must begin with https://."));
});

test("search is sent by the button and shows untrusted results", async () => {
  const host = hostWith([
    anEntry({ title: "Calendar\u202e", description: "Reads\nyour calendar.", isDeprecated: true }),
    anEntry({ name: "io.example/image", source: undefined, problem: "The entry has only a container image." }),
  ]);
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const field = await dialog.findByRole("textbox", { name: "Search the registry" });
  expect(dialog.queryByRole("button", { name: "Continue" })).not.toBeInTheDocument();
  await user.type(field, " cal ");
  expect(host.called("extensions.search")).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Search" }));
  expect(await dialog.findByText(`2 results of ${registry}`)).toBeInTheDocument();
  expect(host.called("extensions.search")).toEqual([{ query: "cal" }]);
  const [first, second] = dialog.getAllByRole("listitem");
  expect(first).toHaveTextContent("io.example/cal1.2.3Deprecated");
  expect(first).toHaveTextContent("Calendar⟨U+202E⟩");
  expect(first).toHaveTextContent("Reads⟨U+000A⟩your calendar.");
  expect(first).toHaveTextContent("Source: npm package @x/cal@1.2.3");
  expect(second).toHaveTextContent("The entry has only a container image.");
  expect(within(second!).queryByRole("button")).not.toBeInTheDocument();
});

test("next page is added to the results", async () => {
  const host = hostWith();
  host.answers["extensions.search"] = ({ cursor }) =>
    cursor === undefined
      ? { registry, servers: [anEntry()], next: "c2" }
      : { registry, servers: [anEntry({ name: "io.example/more" })] };
  const { user } = renderApp("/tools", host);
  const results = await search(user);
  await user.click(screen.getByRole("button", { name: "More" }));
  expect(await results.findByText("io.example/more")).toBeInTheDocument();
  expect(results.getAllByRole("listitem")).toHaveLength(2);
  expect(screen.queryByRole("button", { name: "More" })).not.toBeInTheDocument();
  expect(host.called("extensions.search")).toEqual([{ query: "cal" }, { query: "cal", cursor: "c2" }]);
});

test("chosen entry fills in the form and keeps the results", async () => {
  const host = hostWith();
  const { user } = renderApp("/tools", host);
  const results = await search(user);
  await user.click(results.getByRole("button", { name: "Use io.example/cal" }));
  const source = await screen.findByRole("textbox", { name: "Server source" });
  expect(source).toHaveFocus();
  expect(source).toHaveValue("npm:@x/cal@1.2.3");
  expect(screen.getByRole("radio", { name: "npm" })).toBeChecked();
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("cal");
  expect(screen.getByText("Filled in from the registry.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /Server of the entry/ }));
  await user.click(await screen.findByRole("option", { name: "https://mcp.example.org/v1" }));
  expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("https://mcp.example.org/v1");
  expect(host.called("extensions.preview")).toEqual([]);
  await user.click(screen.getByRole("radio", { name: "Registry" }));
  expect(await screen.findByRole("button", { name: "Use io.example/cal" })).toBeInTheDocument();
  expect(host.called("extensions.search")).toHaveLength(1);
});

test("unreadable entry shows the reason at its place", async () => {
  const { user } = renderApp("/tools", hostWith([anEntry({ document: "{}" })]));
  const results = await search(user);
  await user.click(results.getByRole("button", { name: "Use io.example/cal" }));
  expect(results.getByText(/^The document names no server/)).toBeInTheDocument();
  expect(results.queryByRole("button")).not.toBeInTheDocument();
});

test("failed search shows the reason at the field", async () => {
  const host = hostWith();
  host.answers["extensions.search"] = () =>
    Promise.reject(new RpcError(errorCode.conflict, "The registry did not answer within 10 s."));
  const { user } = renderApp("/tools", host);
  const dialog = await open(user);
  const field = await dialog.findByRole("textbox", { name: "Search the registry" });
  await user.type(field, "cal{Enter}");
  await waitFor(() => expect(field).toHaveAccessibleDescription("The registry did not answer within 10 s."));
});

test("empty result says so", async () => {
  const { user } = renderApp("/tools", hostWith([]));
  const dialog = await open(user);
  await user.type(await dialog.findByRole("textbox", { name: "Search the registry" }), "x{Enter}");
  expect(await dialog.findByText(`0 results of ${registry}`)).toBeInTheDocument();
  expect(dialog.queryByRole("list")).not.toBeInTheDocument();
});
