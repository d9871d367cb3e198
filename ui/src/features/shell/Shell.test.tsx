import { act, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { errorCode, RpcError, type ShellInfo } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, anApproval, aRun, aStatus, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const refuse = (code: number) => () => Promise.reject(new RpcError(code, "no"));

/** A host with a question, and a job that is due in two hours. */
function hostThatWaits() {
  return fakeHost({
    "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: noon + 7_200_000 } })], broken: [], nextCursor: null }),
    "approvals.list": () => ({ approvals: [anApproval()] }),
  });
}

test("a page that is not signed in says how to sign in, and nothing else", async () => {
  renderApp("/", fakeHost({ "system.status": refuse(errorCode.unauthenticated) }));
  expect(await screen.findByText("rouse open")).toBeInTheDocument();
  expect(screen.queryByRole("navigation")).not.toBeInTheDocument();
});

test("an engine that does not answer is said so; once it answers, the page is there", async () => {
  const host = fakeHost({ "system.status": refuse(errorCode.unreachable) });
  const { user } = renderApp("/runs", host);
  expect(await screen.findByRole("heading", { name: "Rouse is not running" }, { timeout: 3_000 })).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus();
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("heading", { name: "Runs" })).toBeInTheDocument();
});

test("a stream that breaks leaves the page and is said in the rail", async () => {
  const host = fakeHost();
  renderApp("/runs", host);
  await screen.findByRole("heading", { name: "Runs" });
  host.connection("lost");
  expect(await screen.findByRole("button", { name: "Engine: Not connected, trying again" })).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: "Runs" })).toBeInTheDocument();
});

test("an engine that is away for seconds is told above the page, and nothing comes nearer or can be answered until it is back", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  expect(await screen.findByText("in 2 h")).toBeInTheDocument();
  host.answers["system.status"] = refuse(errorCode.unreachable);
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(screen.queryByText(/nothing fires/)).not.toBeInTheDocument();
  await act(() => vi.advanceTimersByTimeAsync(4_500));
  expect(screen.getByText(/^Rouse is not running, so nothing fires\. Shown is what was known at \d\d:\d\d\.$/)).toBeInTheDocument();
  expect(deny).toBeDisabled();
  act(() => void vi.advanceTimersByTime(1_800_000));
  expect(screen.getByText("in 2 h")).toBeInTheDocument();
  expect(screen.getByText("29 min left")).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus();
  act(() => host.connection("open"));
  await waitFor(() => expect(screen.queryByText(/nothing fires/)).not.toBeInTheDocument());
  expect(await screen.findByText(/^in 1 h( |$)/)).toBeInTheDocument();
  expect(deny).toBeEnabled();
});

test("no clock goes on while the engine is away: not that of a question, of a run at work, or of the day", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = fakeHost({
    "approvals.list": () => ({ approvals: [anApproval({ askedAtMs: noon - 120_000, expiresAtMs: noon + 60_000 })] }),
    "approvals.get": () => anApproval({ askedAtMs: noon - 120_000, expiresAtMs: noon + 60_000 }),
    "runs.get": () => aDetail({ id: "r1", state: "running", startedAtMs: noon - 30_000, finishedAtMs: null, durationMs: null }),
  });
  const { history } = renderApp("/approvals", host);
  expect(await screen.findByText("2 min")).toBeInTheDocument();
  host.answers["system.status"] = refuse(errorCode.unreachable);
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(5_000));
  await act(() => vi.advanceTimersByTimeAsync(600_000));
  expect(screen.getByText(/nothing fires/)).toBeInTheDocument();
  expect(screen.getByText("2 min")).toBeInTheDocument();
  expect(screen.queryByText("The time for an answer is over.")).not.toBeInTheDocument();
  act(() => history.push("/runs/r1"));
  expect(await screen.findByText(/^3[0-9] s$/)).toBeInTheDocument();
  const leftOf = () => document.querySelector<HTMLElement>("[role=img] > :first-child > :last-child")!.style.left;
  act(() => history.push("/"));
  await screen.findByRole("heading", { name: "Today" });
  const before = leftOf();
  await act(() => vi.advanceTimersByTimeAsync(3_600_000));
  expect(leftOf()).toBe(before);
});

test("an engine that answers while the stream is broken is there: the rail says what is lost, and answers are taken", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  act(() => host.connection("lost"));
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(screen.getByRole("button", { name: "Engine: Not connected, trying again" })).toBeInTheDocument();
  expect(screen.queryByText(/nothing fires/)).not.toBeInTheDocument();
  expect(deny).toBeEnabled();
});

test.each([
  ["starting", /^The engine of this app is starting, so nothing fires yet\. Shown is what was known at \d\d:\d\d\.$/, "Engine: Starting"],
  ["failed", /^The engine of this app could not start, so nothing fires\. Quit Rouse and start it again\. Shown is what was known at \d\d:\d\d\.$/, "Engine: Not running"],
] as const)("the app's own window tells by its shell of an engine that is %s, above the page and in the rail, until there is one", async (place, words, line) => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostThatWaits();
  let engine: ShellInfo["engine"] = "here";
  let changed: () => void = () => undefined;
  host.shellInfo = () => Promise.resolve({ tray: true, engine });
  host.onShellChanged = (tell) => {
    changed = tell;
    return () => undefined;
  };
  renderApp("/", host);
  const deny = await screen.findByRole("button", { name: "Deny write_file in Weekly notes" });
  engine = place;
  changed();
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(screen.queryByText(/nothing fires/)).not.toBeInTheDocument();
  await act(() => vi.advanceTimersByTimeAsync(4_500));
  expect(screen.getByText(words)).toBeInTheDocument();
  expect(screen.getByRole("button", { name: line })).toBeInTheDocument();
  expect(deny).toBeDisabled();
  engine = "here";
  changed();
  await waitFor(() => expect(screen.queryByText(/nothing fires/)).not.toBeInTheDocument());
  expect(deny).toBeEnabled();
});

test("a page whose session has ended with the engine says how to sign in again", async () => {
  const host = fakeHost();
  renderApp("/runs", host);
  await screen.findByRole("heading", { name: "Runs" });
  host.answers["system.status"] = refuse(errorCode.unauthenticated);
  host.connection("lost");
  expect(await screen.findByText("rouse open")).toBeInTheDocument();
});

test("N makes a job, but not while typing", async () => {
  const { user, path } = renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) }));
  await screen.findByRole("heading", { name: "Runs" });
  await user.keyboard("/");
  expect(screen.getByRole("searchbox", { name: "Search runs" })).toHaveFocus();
  await user.keyboard("n");
  expect(path()).not.toContain("/jobs/new");
  await user.click(document.body);
  await user.keyboard("n");
  await waitFor(() => expect(path()).toBe("/jobs/new"));
});

test("the help lists the keys of this page, Escape closes it", async () => {
  const { user } = renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) }));
  await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard" });
  for (const line of ["New job", "Search and commands", "Next row", "Open the row"]) expect(within(help).getByText(line)).toBeInTheDocument();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
});

test("a help that is longer than the window is scrolled by keys, and a dialog with controls has no stop of its own for that", async () => {
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(900);
  onTestFinished(() => void vi.restoreAllMocks());
  const host = fakeHost({ "runs.list": () => ({ runs: [aRun()], nextCursor: null, total: 1 }) });
  const { user } = renderApp("/runs", host);
  await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard" });
  expect(within(help).getByRole("group", { name: "Keyboard" })).toHaveFocus();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  await user.keyboard("{Control>}k{/Control}");
  const commands = await screen.findByRole("dialog", { name: "Search and commands" });
  expect(within(commands).getByRole("combobox")).toHaveFocus();
  expect(within(commands).queryByRole("group", { name: "Search and commands" })).not.toBeInTheDocument();
});

test("the command bar finds a job by a few letters and opens it", async () => {
  const host = fakeHost({ "cron.list": () => ({ jobs: [aJob(), aJob({ id: "job-2", name: "Morning brief" })], broken: [], nextCursor: null }) });
  const { user, path } = renderApp("/settings", host);
  await screen.findByRole("heading", { name: "Settings" });
  await user.keyboard("{Control>}k{/Control}");
  await user.type(await screen.findByRole("combobox", { name: "Search and commands" }), "brief open");
  await user.keyboard("{Enter}");
  await waitFor(() => expect(path()).toBe("/jobs/job-2"));
});

test("the command bar runs a job now and offers the run", async () => {
  const host = fakeHost({ "cron.list": () => ({ jobs: [aJob()], broken: [], nextCursor: null }), "cron.run": () => ({ runId: "r-9" }) });
  const { user, path } = renderApp("/settings", host);
  await screen.findByRole("heading", { name: "Settings" });
  await user.keyboard("{Control>}k{/Control}");
  await user.type(await screen.findByRole("combobox", { name: "Search and commands" }), "run backup");
  await user.click(await screen.findByRole("option", { name: "Run Backup" }));
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "job-1", mode: "force" }]));
  await user.click(await screen.findByRole("button", { name: "See the run" }));
  await waitFor(() => expect(path()).toBe("/runs/r-9"));
});

test("the foot of the rail pauses and resumes everything", async () => {
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

test("a window whose engine is elsewhere says whose it is, until that changes", async () => {
  const host = fakeHost({ "system.status": () => aStatus({ mode: "serve", pid: 4711 }) });
  let engine: ShellInfo["engine"] = "elsewhere";
  let changed: () => void = () => undefined;
  host.shellInfo = () => Promise.resolve({ tray: true, engine });
  host.onShellChanged = (tell) => {
    changed = tell;
    return () => undefined;
  };
  const { user, path } = renderApp("/jobs", host);
  const line = await screen.findByRole("link", { name: "Attached to rouse serve" });
  expect(line).toHaveAttribute("title", expect.stringMatching(/“rouse serve” started \(process 4711\)\. Quitting here does not stop it/));
  await user.click(line);
  await waitFor(() => expect(path()).toBe("/settings"));
  expect(await screen.findByText(/\(process 4711\)\. Quitting here does not stop it/)).toBeInTheDocument();

  host.answers["system.status"] = () => aStatus({ mode: "app", pid: 4712 });
  host.emit("reset", {}, 0);
  expect(await screen.findByRole("link", { name: "Attached to another Rouse" })).toBeInTheDocument();
  engine = "here";
  changed();
  await waitFor(() => expect(screen.queryByText(/Attached|Quitting here/)).not.toBeInTheDocument());
});

test("the foot of the rail says of what comes next that it does", async () => {
  renderApp("/settings", fakeHost({ "system.status": () => aStatus({ cron: { next: { jobId: "j", name: "Stretch your legs", atMs: Date.now() + 60_000 } } }) }));
  const line = await screen.findByRole("button", { name: /^Engine: Next: Stretch your legs \d\d:\d\d$/ });
  expect(within(line).getByText("Next:")).toBeInTheDocument();
});

test("an address that leads nowhere says so inside the frame", async () => {
  renderApp("/nowhere", fakeHost());
  expect(await screen.findByText("There is nothing at this address")).toBeInTheDocument();
  expect(screen.getByRole("navigation", { name: "Main" })).toBeInTheDocument();
});
