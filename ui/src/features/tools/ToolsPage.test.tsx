import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aGrant, aJob, aTool } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const readFile = aTool({ name: "read_file", description: "Reads a file of the workspace.", approval: "never", readOnly: true, openWorld: false, readsOutside: false });
const post = aTool({ name: "post", description: "Sends.", approval: "never", destructive: true });
const command = aTool({ name: "run_command", description: "Runs a command.", approval: "always", domain: "container", destructive: true });

const host = () =>
  fakeHost({
    "tools.catalog": () => ({ tools: [aTool(), readFile, post, command] }),
    "tools.effective": () => ({ tools: [readFile] }),
    "cron.list": () => ({ jobs: [aJob({ id: "j1", name: "Morning brief" })], nextCursor: null }),
    "grants.list": () => ({ grants: [aGrant({ tool: "http" }), aGrant({ id: "g2", tool: "http", isGood: false, jobName: "Old" })] }),
  });

test("the catalogue says what each tool does, whether it asks, and where it runs", async () => {
  const { user } = renderApp("/tools", host());
  const list = within(await screen.findByRole("list", { name: "Tools" }));
  const rows = list.getAllByRole("listitem").map((row) => row.textContent);
  expect(rows).toEqual(["httpFetches a URL. Asks first30/min", "read_fileReads a file of the workspace. Never asks30/min", "postSends. Asks for some calls30/min", "run_commandRuns a command. Sandbox Asks every time30/min"]);
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "file read");
  expect(screen.getByText("1 tool")).toBeInTheDocument();
  expect(list.getAllByRole("listitem")).toHaveLength(1);
});

test("what one job is offered is asked of the engine, and stands in the address", async () => {
  const fake = host();
  const { user, path } = renderApp("/tools", fake);
  await user.click(await screen.findByRole("button", { name: "Offered to" }));
  await user.click(await screen.findByRole("option", { name: "Morning brief" }));
  await waitFor(() => expect(path()).toBe("/tools?job=j1"));
  await waitFor(() => expect(within(screen.getByRole("list", { name: "Tools" })).getAllByRole("listitem")).toHaveLength(1));
  expect(fake.called("tools.effective")).toEqual([{ id: "j1" }]);
});

test("one tool says what it may do, its limits, its arguments and its grants", async () => {
  renderApp("/tools/http", host());
  expect(await screen.findByRole("heading", { name: "http", level: 1 })).toBeInTheDocument();
  const may = within(screen.getByRole("list", { name: "What it may do" }));
  expect(may.getByText("Reaches beyond this computer.")).toBeInTheDocument();
  expect(screen.getByText("30 a minute, 500 an hour")).toBeInTheDocument();
  expect(screen.getByRole("row", { name: /url a text/ })).toBeInTheDocument();
  const grants = within(await screen.findByRole("list", { name: "Grants of this tool" }));
  expect(grants.getAllByRole("listitem")).toHaveLength(1);
});

test("a tool that is not there says so", async () => {
  renderApp("/tools/nothing", host());
  expect(await screen.findByRole("heading", { name: "There is no such tool" })).toBeInTheDocument();
});
