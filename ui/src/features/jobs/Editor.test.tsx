import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("Ctrl S saves from anywhere on the page, and not from a dialog above it", async () => {
  let saved = aJob({ id: "job-7" });
  const host = fakeHost({
    "cron.get": () => saved,
    "cron.update": ({ patch }) => (saved = aJob({ ...saved.job, ...(patch as object) })),
    "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [], notes: [] }),
    "tools.catalog": () => ({ tools: [] }),
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
