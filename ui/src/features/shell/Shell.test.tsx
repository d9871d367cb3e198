import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { errorCode, RpcError, type ShellInfo } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, anApproval, aRun, aShell, aStatus, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const refuse = (code: number) => () => Promise.reject(new RpcError(code, "no"));

/** Host with an approval and a job due in two hours. */
function hostThatWaits() {
  return fakeHost({
    "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: noon + 7_200_000 } })], broken: [], nextCursor: null }),
    "approvals.list": () => ({ approvals: [anApproval()] }),
  });
}

test("signed-out page shows only sign-in instructions", async () => {
  renderApp("/", fakeHost({ "system.status": refuse(errorCode.unauthenticated) }));
  expect(await screen.findByText("rouse open")).toBeInTheDocument();
  expect(screen.queryByRole("navigation")).not.toBeInTheDocument();
});

test("unreachable engine shows so and recovers", async () => {
  const host = fakeHost({ "system.status": refuse(errorCode.unreachable) });
  const { user } = renderApp("/runs", host);
  expect(await screen.findByRole("heading", { name: "Rouse is not running" })).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus();
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("heading", { name: "Runs" })).toBeInTheDocument();
});

test("broken stream keeps the page and shows in the rail", async () => {
  const host = fakeHost();
  renderApp("/runs", host);
  await screen.findByRole("heading", { name: "Runs" });
  host.connection("lost");
  expect(await screen.findByRole("button", { name: "Engine: Not connected, retrying" })).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: "Runs" })).toBeInTheDocument();
});

test("lost engine shows a banner and freezes times and decisions", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  expect(await screen.findByText("in 2 h")).toBeInTheDocument();
  host.answers["system.status"] = refuse(errorCode.unreachable);
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(screen.queryByText(/Data as of/)).not.toBeInTheDocument();
  await act(() => vi.advanceTimersByTimeAsync(4_500));
  expect(screen.getByText(/^Rouse is not running, so no job runs\. Data as of \d\d:\d\d\.$/)).toBeInTheDocument();
  expect(deny).toBeDisabled();
  act(() => void vi.advanceTimersByTime(1_800_000));
  expect(screen.getByText("in 2 h")).toBeInTheDocument();
  expect(screen.getByText("29 min left")).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus();
  act(() => host.connection("open"));
  await waitFor(() => expect(screen.queryByText(/Data as of/)).not.toBeInTheDocument());
  expect(await screen.findByText(/^in 1 h( |$)/)).toBeInTheDocument();
  expect(deny).toBeEnabled();
});

/** Moves the clock, then lets every interval up to a minute fire. */
async function jump(ms: number) {
  vi.setSystemTime(Date.now() + ms);
  await act(() => vi.advanceTimersByTimeAsync(60_000));
}

test("lost engine freezes all clocks", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = fakeHost({
    "approvals.list": () => ({
      approvals: [anApproval({ requestedAtMs: noon - 120_000, expiresAtMs: noon + 60_000 })],
    }),
    "approvals.get": () => anApproval({ requestedAtMs: noon - 120_000, expiresAtMs: noon + 60_000 }),
    "runs.get": () =>
      aDetail({ id: "r1", state: "running", startedAtMs: noon - 30_000, finishedAtMs: null, durationMs: null }),
  });
  const { history } = renderApp("/approvals", host);
  expect(await screen.findByText("2 min")).toBeInTheDocument();
  host.answers["system.status"] = refuse(errorCode.unreachable);
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(5_000));
  await jump(600_000);
  expect(screen.getByText(/Data as of/)).toBeInTheDocument();
  expect(screen.getByText("2 min")).toBeInTheDocument();
  expect(screen.queryByText("This approval has expired.")).not.toBeInTheDocument();
  act(() => history.push("/runs/r1"));
  expect(await screen.findByText(/^3[0-9] s$/)).toBeInTheDocument();
  const leftOf = () => document.querySelector<HTMLElement>("[role=img] > :first-child > :last-child")!.style.left;
  act(() => history.push("/"));
  await screen.findByRole("heading", { name: "Today" });
  const before = leftOf();
  await jump(3_600_000);
  expect(leftOf()).toBe(before);
});

test("reachable engine with a broken stream accepts decisions", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(screen.getByRole("button", { name: "Engine: Not connected, retrying" })).toBeInTheDocument();
  expect(screen.queryByText(/Data as of/)).not.toBeInTheDocument();
  expect(deny).toBeEnabled();
});

test.each([
  ["starting", /^Rouse is starting\. Jobs run once it is ready\. Data as of \d\d:\d\d\.$/, "Engine: Starting"],
  [
    "failed",
    /^Rouse could not start, so no job runs\. Quit and restart Rouse\. Data as of \d\d:\d\d\.$/,
    "Engine: Not running",
  ],
] as const)("app window shows engine %s in banner and rail", async (place, words, line) => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  let engine: ShellInfo["engine"] = "here";
  let changed: () => void = () => undefined;
  host.shellInfo = () => Promise.resolve(aShell({ engine }));
  host.onShellChanged = (tell) => {
    changed = tell;
    return () => undefined;
  };
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  engine = place;
  changed();
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(screen.queryByText(/Data as of/)).not.toBeInTheDocument();
  await act(() => vi.advanceTimersByTimeAsync(4_500));
  expect(screen.getByText(words)).toBeInTheDocument();
  expect(screen.getByRole("button", { name: line })).toBeInTheDocument();
  expect(deny).toBeDisabled();
  engine = "here";
  changed();
  await waitFor(() => expect(screen.queryByText(/Data as of/)).not.toBeInTheDocument());
  expect(deny).toBeEnabled();
});

test("expired session shows sign-in instructions", async () => {
  const host = fakeHost();
  renderApp("/runs", host);
  await screen.findByRole("heading", { name: "Runs" });
  host.answers["system.status"] = refuse(errorCode.unauthenticated);
  host.connection("lost");
  expect(await screen.findByText("rouse open")).toBeInTheDocument();
});

test("N creates a job unless typing", async () => {
  const { user, path } = renderApp(
    "/runs",
    fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) }),
  );
  await screen.findByRole("heading", { name: "Runs" });
  await user.keyboard("/");
  expect(screen.getByRole("searchbox", { name: "Search runs" })).toHaveFocus();
  await user.keyboard("n");
  expect(path()).not.toContain("/jobs/new");
  await user.click(document.body);
  await user.keyboard("n");
  await waitFor(() => expect(path()).toBe("/jobs/new"));
});

test("help lists the page's keys and closes on Escape", async () => {
  const { user } = renderApp(
    "/runs",
    fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) }),
  );
  await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  for (const line of ["New job", "Search and commands", "Next row", "Open row"])
    expect(within(help).getByText(line)).toBeInTheDocument();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
});

test("long dialog without controls scrolls by keys", async () => {
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(900);
  onTestFinished(() => void vi.restoreAllMocks());
  const host = fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) });
  const { user } = renderApp("/runs", host);
  await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  expect(within(help).getByRole("group", { name: "Keyboard shortcuts" })).toHaveFocus();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  await user.keyboard("{Control>}k{/Control}");
  const commands = await screen.findByRole("dialog", { name: "Search and commands" });
  expect(within(commands).getByRole("combobox")).toHaveFocus();
  expect(within(commands).queryByRole("group", { name: "Search and commands" })).not.toBeInTheDocument();
});

test("command bar finds and opens a job", async () => {
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob(), aJob({ id: "job-2", name: "Morning brief" })], broken: [], nextCursor: null }),
  });
  const { user, path } = renderApp("/settings", host);
  await screen.findByRole("heading", { name: "Settings" });
  await user.keyboard("{Control>}k{/Control}");
  await user.type(await screen.findByRole("combobox", { name: "Search and commands" }), "brief open");
  await user.keyboard("{Enter}");
  await waitFor(() => expect(path()).toBe("/jobs/job-2"));
});

test("command bar runs a job and links to the run", async () => {
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob()], broken: [], nextCursor: null }),
    "cron.run": () => ({ runId: "r-9" }),
  });
  const { user, path } = renderApp("/settings", host);
  await screen.findByRole("heading", { name: "Settings" });
  await user.keyboard("{Control>}k{/Control}");
  await user.type(await screen.findByRole("combobox", { name: "Search and commands" }), "run backup");
  await user.click(await screen.findByRole("option", { name: "Run Backup" }));
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "job-1", mode: "force" }]));
  await user.click(await screen.findByRole("button", { name: "View run" }));
  await waitFor(() => expect(path()).toBe("/runs/r-9"));
});

test("rail foot pauses and resumes all jobs", async () => {
  const host = fakeHost({ "cron.pause": () => aStatus().cron, "cron.resume": () => aStatus().cron });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: /^Engine: No model yet/ }));
  await user.click(await screen.findByRole("menuitem", { name: "Pause for 1 hour" }));
  const before = Date.now();
  await waitFor(() => expect(host.called("cron.pause")).toHaveLength(1));
  const { untilMs } = host.called("cron.pause")[0] as { untilMs: number };
  expect(Math.abs(untilMs - before - 3_600_000)).toBeLessThan(60_000);

  host.answers["system.status"] = () => aStatus({ cron: { pause: { untilMs: null } } });
  host.emit("config", {});
  await user.click(await screen.findByRole("button", { name: "Engine: Paused" }));
  await user.click(await screen.findByRole("menuitem", { name: "Resume now" }));
  await waitFor(() => expect(host.called("cron.resume")).toHaveLength(1));
});

test("attached window names its engine until that changes", async () => {
  const host = fakeHost({ "system.status": () => aStatus({ mode: "serve", pid: 4711 }) });
  let engine: ShellInfo["engine"] = "elsewhere";
  let changed: () => void = () => undefined;
  host.shellInfo = () => Promise.resolve(aShell({ engine }));
  host.onShellChanged = (tell) => {
    changed = tell;
    return () => undefined;
  };
  const { user, path } = renderApp("/jobs", host);
  const line = await screen.findByRole("link", { name: "Attached to rouse serve" });
  expect(line).toHaveAttribute(
    "title",
    expect.stringMatching(/“rouse serve” \(process 4711\)\. Quitting here does not stop jobs/),
  );
  await user.click(line);
  await waitFor(() => expect(path()).toBe("/settings"));
  expect(await screen.findByText(/\(process 4711\). Quitting here does not stop jobs/)).toBeInTheDocument();

  host.answers["system.status"] = () => aStatus({ mode: "app", pid: 4712 });
  host.emit("reset", {}, 0);
  expect(await screen.findByRole("link", { name: "Attached to another Rouse" })).toBeInTheDocument();
  engine = "here";
  changed();
  await waitFor(() => expect(screen.queryByText(/Attached|Quitting here/)).not.toBeInTheDocument());
});

test("rail foot labels the next job", async () => {
  renderApp(
    "/settings",
    fakeHost({
      "system.status": () =>
        aStatus({ cron: { next: { jobId: "j", name: "Stretch your legs", atMs: Date.now() + 60_000 } } }),
    }),
  );
  const line = await screen.findByRole("button", { name: /^Engine: Next: Stretch your legs \d\d:\d\d$/ });
  expect(within(line).getByText("Next:")).toBeInTheDocument();
});

test("unknown address shows not found inside the frame", async () => {
  renderApp("/nowhere", fakeHost());
  expect(await screen.findByText("Page not found")).toBeInTheDocument();
  expect(screen.getByRole("navigation", { name: "Main" })).toBeInTheDocument();
});
