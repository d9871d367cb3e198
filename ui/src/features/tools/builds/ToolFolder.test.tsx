import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError, type ServerDefinition } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aBuild, anExtension, anExtensionDetail, aToolsPage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const sha256 = "77".repeat(32);
const server: ServerDefinition = {
  transport: { kind: "wasm", hosts: ["api.example.com"], secrets: [], files: "read" },
};
const plan = {
  claims: "weather 1.1.0: Tells the weather.",
  steps: [],
  folder: "/home/ada/extensions/weather",
  size: { files: 2, bytes: 42 },
  notes: ["Language: JavaScript."],
};

const host = () =>
  fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "tools.check": () => aBuild(),
    "extensions.preview": ({ name }) => ({
      extension: name,
      server,
      tools: [],
      hash: "99".repeat(32),
      package: { ...plan, source: { kind: "tool", path: "/home/ada/t", sha256 } },
    }),
    "extensions.installStatus": () => ({ step: null }),
    "extensions.install": () => aToolsPage({ page: { extension: "weather" } }),
  });

async function enter(user: ReturnType<typeof renderApp>["user"], path: string) {
  await user.click(await screen.findByRole("button", { name: "Add MCP server" }));
  await user.click(await screen.findByRole("radio", { name: "Tool folder" }));
  const dialog = within(screen.getByRole("dialog", { name: "Add a tool folder" }));
  await user.type(dialog.getByRole("textbox", { name: "Folder of the tool" }), path);
  await user.click(dialog.getByRole("button", { name: "Check" }));
  return dialog;
}

test("folder is checked, then installed by its own name", async () => {
  const fake = host();
  const { user } = renderApp("/tools", fake);
  const dialog = await enter(user, "~/t/");
  expect(await dialog.findByRole("status")).toHaveTextContent("weather passed its check. 2 of 2 tests passed.");
  expect(fake.called("tools.check")).toEqual([{ folder: "/home/ada/t" }]);
  expect(within(dialog.getByRole("list", { name: "Tests of weather" })).getAllByRole("listitem")).toHaveLength(2);
  expect(fake.called("extensions.preview")).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Continue" }));
  const consent = within(await screen.findByRole("dialog", { name: "Install weather?" }));
  for (const text of ["api.example.com", "Reads its own folder", sha256, "/home/ada/t"])
    expect(consent.getByText(text)).toBeInTheDocument();
  // Permissions come before the package.
  const permission = consent.getByText("Reads its own folder");
  const order = permission.compareDocumentPosition(consent.getByRole("group", { name: "Package" }));
  expect(order).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  const install = consent.getByRole("button", { name: "Install" });
  await waitFor(() => expect(install).toBeEnabled());
  await user.click(install);
  expect(await screen.findByRole("dialog", { name: "Tools of weather" })).toBeInTheDocument();
  expect(fake.called("extensions.install")).toMatchObject([
    { name: "weather", source: { kind: "tool", path: "/home/ada/t" }, accept: "99".repeat(32) },
  ]);
});

test("failed folder shows its problems and goes no further", async () => {
  const fake = host();
  const tests = [{ name: "sunny city", passed: false, message: "The result is {}.", log: [] }];
  fake.answers["tools.check"] = () => aBuild({ state: "failed", errors: ["`hosts` is invalid.\u202e"], tests });
  const { user } = renderApp("/tools", fake);
  const dialog = await enter(user, "/home/ada/t");
  expect(await dialog.findByRole("status")).toHaveTextContent("weather did not pass its check. 1 error.");
  expect(dialog.getByRole("list", { name: "Errors" })).toHaveTextContent("hosts is invalid.⟨U+202E⟩");
  expect(dialog.getByRole("list", { name: "Tests of weather" })).toHaveTextContent("The result is {}.");
  expect(dialog.queryByRole("button", { name: "Continue" })).not.toBeInTheDocument();
  fake.answers["tools.check"] = () => aBuild();
  await user.click(dialog.getByRole("button", { name: "Check again" }));
  expect(await dialog.findByRole("button", { name: "Continue" })).toBeInTheDocument();
});

test("problem of the folder shows at the field", async () => {
  const fake = host();
  const fields = [{ path: "folder", message: "must have a tool.toml with a name" }];
  fake.answers["tools.check"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "folder", { fields }));
  const { user } = renderApp("/tools", fake);
  const dialog = await enter(user, "tools/t");
  const field = dialog.getByRole("textbox", { name: "Folder of the tool" });
  expect(field).toHaveAccessibleDescription(/^Write the absolute path/);
  expect(fake.called("tools.check")).toEqual([]);
  await user.clear(field);
  await user.type(field, "/home/ada/t{Enter}");
  await waitFor(() => expect(field).toHaveAccessibleDescription("This must have a tool.toml with a name."));
});

test("changed path needs another check", async () => {
  const { user } = renderApp("/tools", host());
  const dialog = await enter(user, "/home/ada/t");
  await dialog.findByRole("button", { name: "Continue" });
  await user.type(dialog.getByRole("textbox", { name: "Folder of the tool" }), "2");
  expect(dialog.getByRole("button", { name: "Check" })).toBeInTheDocument();
  expect(dialog.queryByRole("status")).not.toBeInTheDocument();
});

test("section of built tools opens the folder form", async () => {
  const fake = host();
  const { user } = renderApp("/tools", fake);
  await user.click(await screen.findByRole("button", { name: "Add a tool folder" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Add a tool folder" }));
  expect(dialog.getByRole("radio", { name: "Tool folder" })).toBeChecked();
  expect(dialog.getByRole("textbox", { name: "Folder of the tool" })).toHaveFocus();
  await user.click(dialog.getByRole("radio", { name: "npm" }));
  expect(screen.getByRole("dialog", { name: "Add MCP server" })).toBeInTheDocument();
});

test("installed tool has no form of a server", async () => {
  const fake = host();
  fake.answers["extensions.list"] = () => ({ extensions: [anExtension({ name: "weather" })] });
  fake.answers["extensions.get"] = () => anExtensionDetail({ name: "weather", extension: { server } });
  const { user } = renderApp("/tools", fake);
  await screen.findByText("No accepted tools.");
  await user.click(screen.getByRole("button", { name: "More actions of weather" }));
  expect(await screen.findByRole("menuitem", { name: /^Restart/ })).toBeInTheDocument();
  expect(screen.queryByRole("menuitem", { name: "Change" })).not.toBeInTheDocument();
});
