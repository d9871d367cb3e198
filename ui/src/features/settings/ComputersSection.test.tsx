import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { ConfigView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aShell } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

function hostWith(computers: ConfigView["computers"], shell = aShell()) {
  const host = fakeHost({
    "config.get": () => aConfig({ computers }),
    "config.patch": () => aConfig({ computers }),
  });
  host.shellInfo = () => Promise.resolve(shell);
  return host;
}

const section = async () => within(await screen.findByRole("region", { name: "Computers" }));

test("computer is added with its address and program", async () => {
  const host = hostWith({});
  const { user } = renderApp("/settings", host);
  await user.click((await section()).getByRole("button", { name: "Add a computer…" }));
  const form = within(await screen.findByRole("form", { name: "Computer" }));
  await user.type(form.getByLabelText("Name"), "My Box");
  expect(form.getByText("Saved as my-box")).toBeInTheDocument();
  await user.type(form.getByLabelText("Address"), " anna@box ");
  await user.type(form.getByLabelText("Path of rouse"), "~/.cargo/bin/rouse");
  await user.click(form.getByRole("button", { name: "Add" }));
  const added = { "my-box": { address: "anna@box", program: "~/.cargo/bin/rouse" } };
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { computers: added } }]));
});

test("computer is listed with its connection and removed", async () => {
  const problem = "Rouse is not running on box.";
  const computers = [{ name: "box", address: "anna@box", state: "failed", problem } as const];
  const host = hostWith({ box: { address: "anna@box" } }, aShell({ computers }));
  const { user } = renderApp("/settings", host);
  const list = await section();
  expect(list.getByText(`Not connected, retrying. ${problem}`)).toBeInTheDocument();
  await user.click(list.getByRole("button", { name: "Remove box…" }));
  await user.click(await screen.findByRole("button", { name: "Remove" }));
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { computers: { box: null } } }]));
});

test("section is absent on the pages of another computer", async () => {
  const host = hostWith({}, aShell({ engine: "anotherComputer", computer: "box" }));
  renderApp("/settings", host);
  await screen.findByRole("region", { name: "Registries" });
  expect(screen.queryByRole("region", { name: "Computers" })).not.toBeInTheDocument();
  expect(screen.queryByRole("link", { name: "Computers" })).not.toBeInTheDocument();
});
