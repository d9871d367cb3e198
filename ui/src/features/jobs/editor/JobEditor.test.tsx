import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("Escape leaves the field, then the page", async () => {
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ id: "job-7" })], broken: [], nextCursor: null }),
    "cron.get": () => aJob({ id: "job-7" }),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  const { user, path } = renderApp("/jobs?filter=active", host);
  const open = async () => {
    await user.click(await screen.findByRole("link", { name: "Backup" }));
    await user.click(await screen.findByRole("textbox", { name: "Name" }));
  };
  await open();
  await user.keyboard("{Escape}");
  expect(screen.getByRole("textbox", { name: "Name" })).not.toHaveFocus();
  expect(path()).toBe("/jobs/job-7");
  await user.keyboard("{Escape}");
  await waitFor(() => expect(path()).toBe("/jobs?filter=active"));
  await open();
  await user.keyboard("!{Escape}");
  expect(screen.getByRole("textbox", { name: "Name" })).toHaveValue("Backup!");
  expect(path()).toBe("/jobs/job-7");
});

test("Escape closes a popup before leaving the field", async () => {
  const host = fakeHost({
    "cron.get": () => aJob({ id: "job-7" }),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  const { user, path } = renderApp("/jobs/job-7", host);
  const zone = await screen.findByRole("combobox", { name: /zone/i });
  await user.click(zone);
  await waitFor(() => expect(zone).toHaveAttribute("aria-expanded", "true"));
  await user.keyboard("{Escape}");
  await waitFor(() => expect(zone).toHaveAttribute("aria-expanded", "false"));
  expect(zone).toHaveFocus();
  await user.keyboard("{Escape}");
  expect(zone).not.toHaveFocus();
  expect(path()).toBe("/jobs/job-7");
});

test("Ctrl+S saves anywhere except in a dialog", async () => {
  let saved = aJob({ id: "job-7" });
  const host = fakeHost({
    "cron.get": () => saved,
    "cron.update": ({ patch }) => (saved = aJob({ ...saved.job, ...(patch as object) })),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  const { user } = renderApp("/jobs/job-7", host);
  const write = async (text: string) => {
    await user.click(await screen.findByRole("textbox", { name: "Name" }));
    await user.paste(text);
  };
  await write(" of the cellar");
  screen.getByRole("button", { name: "Run now" }).focus();
  await user.keyboard("{Control>}s{/Control}");
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  await waitFor(() => expect(screen.getByRole("button", { name: "Save" })).toBeDisabled());
  await write(", too");
  await user.click(screen.getByRole("link", { name: "Home" }));
  await screen.findByRole("alertdialog", { name: "Leave without saving?" });
  await user.keyboard("{Control>}s{/Control}");
  expect(host.called("cron.update")).toHaveLength(1);
});

test("delivery fields are in one section", async () => {
  const host = fakeHost({
    "cron.get": () =>
      aJob({ id: "job-7", payload: { kind: "toolCall", tool: "http", arguments: {}, notifyWhen: "changed" } }),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
  });
  renderApp("/jobs/job-7", host);
  const tells = within(await screen.findByRole("region", { name: "Delivery" }));
  for (const label of [/Notify when$/, /Notify about$/, /Quiet hours$/])
    expect(tells.getByRole("button", { name: label })).toBeInTheDocument();
  const wrong = within(screen.getByRole("region", { name: "If something goes wrong" }));
  expect(wrong.queryByRole("button", { name: /Notify about|Quiet hours/ })).not.toBeInTheDocument();
  expect(wrong.queryByRole("switch")).not.toBeInTheDocument();
  expect(
    within(screen.getByRole("region", { name: "When" })).getByRole("switch", { name: /^Delete after run/ }),
  ).toBeInTheDocument();
});
