import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aGrant, aJob, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const name = () => screen.findByRole("textbox", { name: "Name" });

function hostWithCommand(hosts: string[]) {
  return fakeHost({
    "cron.get": () => aJob({ payload: { kind: "toolCall", tool: "run_command", arguments: { command: "true" } }, policies: { hosts } }),
    "cron.preview": () => ({ text: "Every hour", zone: "UTC", localZone: "UTC", notes: [], next: [] }),
    "tools.catalog": () => ({ tools: [aTool({ name: "run_command", domain: "container" })] }),
  });
}

test("a command that you have written is offered no hosts, because none would bound it", async () => {
  const { user } = renderApp("/jobs/job-1", hostWithCommand([]));
  await name();
  await user.click(await screen.findByRole("button", { name: "What it may do your own rights, outside the sandbox" }));
  expect(screen.getByRole("button", { name: /When a hook wants your yes/ })).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Hosts it may reach" })).not.toBeInTheDocument();
});

test("hosts that a written command has all the same can be taken out", async () => {
  const { user } = renderApp("/jobs/job-1", hostWithCommand(["example.com"]));
  await name();
  await user.click(await screen.findByRole("button", { name: /^What it may do your own rights, outside the sandbox · only named hosts$/ }));
  expect(screen.getByRole("textbox", { name: "Hosts it may reach" })).toHaveValue("example.com");
});

test("what a job may do without asking is shown where it is changed, and can be taken back", async () => {
  const host = fakeHost({
    "cron.get": () => aJob({ payload: { kind: "agentTurn", message: "Look" } }),
    "cron.preview": () => ({ text: "Every hour", zone: "UTC", localZone: "UTC", notes: [], next: [] }),
    "grants.list": () => ({
      grants: [
        aGrant({ covers: { kind: "pattern", folder: "/home/a/work", rules: { path: { rule: "below", value: "notes" } } }, writesValues: ["mail"] }),
        aGrant({ id: "g4", covers: { kind: "exact", arguments: { path: "a\u202eb" } } }),
        aGrant({ id: "g2", isGood: false, tool: "http" }),
        aGrant({ id: "g3", jobId: "job-2", tool: "http" }),
      ],
    }),
  });
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  await user.click(await screen.findByRole("button", { name: /^What it may do/ }));
  const list = within(await screen.findByRole("list", { name: "What it may do without asking" }));
  const [pattern, exact, ...others] = list.getAllByRole("listitem");
  expect(others).toEqual([]);
  expect(exact).toHaveTextContent("write_file with exactly these arguments: path: a⟨U+202E⟩b");
  expect(pattern).toHaveTextContent("write_file when path is “notes” or lies below it, in /home/a/work. It writes the value of the stored secret mail into the file.");
  expect(screen.getByRole("link", { name: "Take it back" })).toHaveAttribute("href", "/grants");
});
