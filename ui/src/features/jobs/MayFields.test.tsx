import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aTool } from "@/test/fixtures";
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
  await user.click(await screen.findByRole("button", { name: /^What it may do$/ }));
  expect(screen.getByRole("button", { name: /When a hook wants your yes/ })).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Hosts it may reach" })).not.toBeInTheDocument();
});

test("hosts that a written command has all the same can be taken out", async () => {
  const { user } = renderApp("/jobs/job-1", hostWithCommand(["example.com"]));
  await name();
  await user.click(await screen.findByRole("button", { name: /^What it may do only named hosts$/ }));
  expect(screen.getByRole("textbox", { name: "Hosts it may reach" })).toHaveValue("example.com");
});
