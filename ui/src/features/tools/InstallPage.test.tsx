import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aConfig } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const registry = "https://registry.example.org";

function host() {
  return fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "config.get": () => aConfig({ registries: { servers: registry, skills: null } }),
    "extensions.search": () => ({ registry, servers: [] }),
  });
}

const methods = (fake: ReturnType<typeof host>) => fake.calls.map(({ method }) => method);

test.each(["/install?npm=%40x%2Fcal%401.2.3", "/install/?npm=%40x%2Fcal%401.2.3&command=rm&job=5"])(
  "link %s opens the filled-in form and installs nothing",
  async (address) => {
    const fake = host();
    const { user, path } = renderApp(address, fake);
    const dialog = within(await screen.findByRole("dialog", { name: "Add MCP server" }));
    expect(dialog.getByText("A link opened this form. Nothing is installed yet.")).toBeInTheDocument();
    expect(dialog.getByRole("textbox", { name: "Server source" })).toHaveValue("npm:@x/cal@1.2.3");
    expect(dialog.getByRole("textbox", { name: "Name" })).toHaveValue("cal");
    expect(methods(fake).filter((method) => /preview|install|search/.test(method))).toEqual([]);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(path()).toBe("/tools"));
    expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
    expect(await screen.findByRole("heading", { name: "Tools", level: 1 })).toBeInTheDocument();
  },
);

test("entry of a link waits for the search button", async () => {
  const fake = host();
  const { user } = renderApp("/install?entry=io.github.owner%2Fserver&name=notes", fake);
  const field = await screen.findByRole("textbox", { name: "Search the registry" });
  expect(field).toHaveValue("io.github.owner/server");
  expect(fake.called("extensions.search")).toEqual([]);
  const npm = { registryType: "npm", identifier: "cal", version: "1.0.0" };
  fake.answers["extensions.search"] = () => ({
    registry,
    servers: [
      {
        name: "io.github.owner/server",
        description: "",
        version: "1.0.0",
        isDeprecated: false,
        source: "npm package cal@1.0.0",
        document: JSON.stringify({ packages: [npm] }),
      },
    ],
  });
  await user.click(screen.getByRole("button", { name: "Search" }));
  expect(await screen.findByText("No description.")).toBeInTheDocument();
  expect(fake.called("extensions.search")).toEqual([{ query: "io.github.owner/server" }]);
  await user.click(screen.getByRole("button", { name: "Use io.github.owner/server" }));
  expect(await screen.findByRole("textbox", { name: "Name" })).toHaveValue("notes");
});

test.each([
  ["/install", /names no package/],
  ["/install?npm=cal&pypi=cal", /names several servers/],
])("link %s explains why nothing opens", async (address, text) => {
  const { user, path } = renderApp(address, host());
  const dialog = within(await screen.findByRole("dialog", { name: "Nothing to install" }));
  expect(dialog.getByText(text)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Close" }));
  await waitFor(() => expect(path()).toBe("/tools"));
});

test("second link replaces the form of the first", async () => {
  const { history } = renderApp("/install?npm=cal%401.0.0", host());
  expect(await screen.findByRole("textbox", { name: "Server source" })).toHaveValue("npm:cal@1.0.0");
  act(() => history.push("/install?url=https%3A%2F%2Fmcp.example.org"));
  await waitFor(() =>
    expect(screen.getByRole("textbox", { name: "Server source" })).toHaveValue("https://mcp.example.org"),
  );
  expect(screen.getAllByRole("dialog")).toHaveLength(1);
});
