import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, RpcError, type ToolBuildSummary } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aBuildSummary, aDetail, installedHash } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const hostWith = (builds: ToolBuildSummary[]) =>
  fakeHost({
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "tools.builds": () => ({ builds }),
    "tools.build": () => ({ jobId: "job-7", runId: "run-7" }),
    "runs.get": () => aDetail({ id: "run-7", jobName: "Build a tool: weather" }),
  });

const versionsOf = async (name: string) =>
  within(await screen.findByRole("list", { name: `Versions of ${name}` })).getAllByRole("listitem");

async function openDialog(user: ReturnType<typeof renderApp>["user"]) {
  // The empty section has a second button.
  const [button] = await screen.findAllByRole("button", { name: "Build a tool" });
  await user.click(button!);
  return within(await screen.findByRole("dialog", { name: "Build a tool" }));
}

test("version shows state, tests, origin and its run", async () => {
  renderApp("/tools", hostWith([aBuildSummary({ isTainted: true, version: "1.1\u202e.0" })]));
  const [version] = await versionsOf("weather");
  expect(version).toHaveTextContent(
    /^Not installed1\.1⟨U\+202E⟩\.0 · JavaScript · 3 of 3 tests passed From untrusted input/,
  );
  expect(within(version!).getByRole("link", { name: /^Run that made weather/ })).toHaveAttribute("href", "/runs/run-7");
  expect(screen.getByText("Tells the weather of a city.")).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "weather" })).toHaveAttribute("href", "/tools/built/weather");
});

test("installed version stands beside a newer version", async () => {
  const installed = aBuildSummary({ hash: installedHash, version: "1.0.0", state: "accepted", isTainted: true });
  const other = aBuildSummary({ name: "rates", runId: null, state: "failed", tests: 4 });
  renderApp("/tools", hostWith([aBuildSummary(), other, installed]));
  const tools = within(await screen.findByRole("list", { name: "Built tools" }));
  expect(tools.getAllByRole("list")).toHaveLength(2);
  const [newer, older] = await versionsOf("weather");
  expect(newer).toHaveTextContent(/^Not installed1\.1\.0/);
  expect(older).toHaveTextContent(/^Installed1\.0\.0/);
  expect(older).not.toHaveTextContent("From untrusted input");
  expect(within(older!).getByRole("link", { name: "weather, version 1.0.0" })).toHaveAttribute(
    "href",
    `/tools/built/weather?hash=${installedHash}`,
  );
  const [failed] = await versionsOf("rates");
  expect(failed).toHaveTextContent(/^Failed1\.1\.0 · JavaScript · 3 of 4 tests passed/);
  expect(within(failed!).queryByRole("link", { name: /^Run/ })).not.toBeInTheDocument();
});

test("version without a manifest shows hash and errors", async () => {
  const broken = { description: null, version: null, state: "failed", tests: 0, passedTests: 0, errors: 2 } as const;
  renderApp("/tools", hostWith([aBuildSummary(broken)]));
  const [version] = await versionsOf("weather");
  expect(version).toHaveTextContent(/^Failedabababababab · JavaScript · 2 errors/);
  expect(screen.getByText("The manifest cannot be read.")).toBeInTheDocument();
});

test("search keeps matching built tools only", async () => {
  const { user } = renderApp(
    "/tools",
    hostWith([aBuildSummary(), aBuildSummary({ name: "rates", description: "Money." })]),
  );
  await screen.findByRole("list", { name: "Versions of weather" });
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "city");
  expect(screen.queryByRole("list", { name: "Versions of rates" })).not.toBeInTheDocument();
  expect(screen.getByRole("list", { name: "Versions of weather" })).toBeInTheDocument();
  expect(screen.queryByText("No matching tools")).not.toBeInTheDocument();
  await user.type(screen.getByRole("searchbox", { name: "Search tools" }), "x");
  expect(screen.queryByRole("region", { name: "Built tools" })).not.toBeInTheDocument();
});

test("failed list can be loaded again", async () => {
  const host = hostWith([aBuildSummary()]);
  const answer = host.answers["tools.builds"];
  host.answers["tools.builds"] = () => Promise.reject(new RpcError(errorCode.conflict, "The database is busy."));
  const { user } = renderApp("/tools", host);
  const failure = within(
    (await screen.findByText("Could not load built tools.")).closest<HTMLElement>("[role=alert]")!,
  );
  expect(failure.getByText("The database is busy.")).toBeInTheDocument();
  host.answers["tools.builds"] = answer;
  await user.click(failure.getByRole("button", { name: "Try again" }));
  expect(await versionsOf("weather")).toHaveLength(1);
});

test("checked version appears by its event", async () => {
  const host = hostWith([]);
  renderApp("/tools", host);
  await screen.findByText("No built tools yet");
  host.answers["tools.builds"] = () => ({ builds: [aBuildSummary()] });
  host.emit("config", { toolBuilds: "weather" });
  expect(await versionsOf("weather")).toHaveLength(1);
});

test("started build shows its run", async () => {
  const host = hostWith([]);
  const { user, path } = renderApp("/tools", host);
  const dialog = await openDialog(user);
  const task = dialog.getByRole("textbox", { name: "What should the tool do?" });
  expect(task).toHaveFocus();
  expect(dialog.getByRole("button", { name: "Start" })).toBeDisabled();
  expect(dialog.queryByRole("button", { name: /Change an existing tool/ })).not.toBeInTheDocument();
  await user.type(task, "Tell the weather.");
  await user.click(dialog.getByRole("button", { name: "Start" }));
  await waitFor(() => expect(path()).toBe("/runs/run-7"));
  expect(host.called("tools.build")).toEqual([{ task: "Tell the weather." }]);
  expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
});

test("built tool can be chosen for a change", async () => {
  const host = hostWith([aBuildSummary()]);
  const { user, path } = renderApp("/tools", host);
  const dialog = await openDialog(user);
  await user.click(dialog.getByRole("button", { name: /Change an existing tool/ }));
  await user.click(await screen.findByRole("option", { name: "weather" }));
  const change = within(await screen.findByRole("dialog", { name: "Change weather" }));
  await user.type(change.getByRole("textbox", { name: "What should change?" }), "Add the wind.");
  await user.click(change.getByRole("button", { name: "Start" }));
  await waitFor(() => expect(path()).toBe("/runs/run-7"));
  expect(host.called("tools.build")).toEqual([{ task: "Add the wind.", tool: "weather" }]);
});

test("refused build keeps dialog and text", async () => {
  const host = hostWith([]);
  host.answers["tools.build"] = () => Promise.reject(new RpcError(errorCode.conflict, "The sandbox is not available."));
  const { user, path } = renderApp("/tools", host);
  const dialog = await openDialog(user);
  const task = dialog.getByRole("textbox", { name: "What should the tool do?" });
  await user.type(task, "Tell the weather.");
  await user.click(dialog.getByRole("button", { name: "Start" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("The sandbox is not available.");
  expect(task).toHaveValue("Tell the weather.");
  expect(path()).toBe("/tools");
  const fields = [{ path: "task", message: "must say what the tool does" }];
  host.answers["tools.build"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "task", { fields }));
  await user.click(dialog.getByRole("button", { name: "Start" }));
  await waitFor(() => expect(task).toHaveAccessibleDescription("This must say what the tool does."));
  expect(dialog.queryByRole("alert")).not.toBeInTheDocument();
});

test("closed dialog returns the focus to its button", async () => {
  const { user } = renderApp("/tools", hostWith([aBuildSummary()]));
  await openDialog(user);
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  await waitFor(() => expect(screen.getByRole("button", { name: "Build a tool" })).toHaveFocus());
});
