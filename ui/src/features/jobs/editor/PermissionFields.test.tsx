import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aGrant, aJob, aPreview, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const name = () => screen.findByRole("textbox", { name: "Name" });

function hostWithCommand(hosts: string[]) {
  return fakeHost({
    "cron.get": () =>
      aJob({ payload: { kind: "toolCall", tool: "run_command", arguments: { command: "true" } }, policies: { hosts } }),
    "cron.preview": () => aPreview({ text: "Every hour" }),
    "tools.catalog": () => ({ tools: [aTool({ name: "run_command", domain: "container" })], refused: [] }),
  });
}

test("fixed command offers no hosts field", async () => {
  const { user } = renderApp("/jobs/job-1", hostWithCommand([]));
  await name();
  await user.click(await screen.findByRole("button", { name: "Permissions your full permissions, no sandbox" }));
  expect(screen.getByRole("button", { name: /Approvals/ })).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Hosts" })).not.toBeInTheDocument();
});

test("existing hosts of a fixed command can be removed", async () => {
  const { user } = renderApp("/jobs/job-1", hostWithCommand(["example.com"]));
  await name();
  await user.click(
    await screen.findByRole("button", {
      name: /^Permissions your full permissions, no sandbox · listed hosts only$/,
    }),
  );
  expect(screen.getByRole("textbox", { name: "Hosts" })).toHaveValue("example.com");
});

test("grants show in the editor and link to revocation", async () => {
  const host = fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look" } }),
    "cron.preview": () => aPreview({ text: "Every hour" }),
    "grants.list": () => ({
      grants: [
        aGrant({
          covers: { kind: "pattern", folder: "/home/a/work", rules: { path: { rule: "below", value: "notes" } } },
        }),
        aGrant({ id: "g4", covers: { kind: "exact", arguments: { path: "a\u202eb" } } }),
        aGrant({ id: "g2", isValid: false, tool: "http" }),
        aGrant({ id: "g3", jobId: "job-2", tool: "http" }),
      ],
    }),
  });
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  await user.click(await screen.findByRole("button", { name: /^Permissions/ }));
  const list = within(await screen.findByRole("list", { name: "Grants" }));
  const [pattern, exact, ...others] = list.getAllByRole("listitem");
  expect(others).toEqual([]);
  expect(exact).toHaveTextContent("write_file with exactly these arguments: path: a⟨U+202E⟩b");
  expect(pattern).toHaveTextContent("write_file when path is “notes” or is under it, in /home/a/work");
  expect(screen.getByRole("link", { name: "Revoke" })).toHaveAttribute("href", "/grants");
});
