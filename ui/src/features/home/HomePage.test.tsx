import { cleanup, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, anApproval, anIncident, aRun, aStatus, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const soon = () => Date.now() + 7_200_000;

test("five jobs are next, eight runs were lately", async () => {
  const jobs = Array.from({ length: 7 }, (_, i) => aJob({ id: `j${i}`, name: `Job ${i}`, state: { nextRunAtMs: soon() + i } }));
  const runs = Array.from({ length: 20 }, (_, i) => aRun({ id: `r${i}` }));
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs, broken: [], nextCursor: null }), "runs.list": () => ({ runs, nextCursor: null, total: 20 }), "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [], notes: [] }) }));
  const next = await screen.findByRole("list", { name: "Next jobs" });
  expect(within(next).getAllByRole("listitem")).toHaveLength(5);
  expect(within(await screen.findByRole("list", { name: "Newest runs" })).getAllByRole("listitem")).toHaveLength(8);
});

test("a reminder that is named by its text says it once", async () => {
  const named = (id: string, name: string, text: string) => aJob({ id, name, payload: { kind: "systemEvent", text }, state: { nextRunAtMs: soon() } });
  const jobs = [named("a", "Stretch your legs", "Stretch your legs."), named("b", "Tea", "The tea is ready.")];
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs, broken: [], nextCursor: null }), "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [], notes: [] }) }));
  const next = within(await screen.findByRole("list", { name: "Next jobs" }));
  expect(next.getByText("The tea is ready.")).toBeInTheDocument();
  expect(next.getAllByText(/Stretch your legs/)).toHaveLength(1);
});

test("jobs that never come next are not offered as next", async () => {
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs: [aJob({ enabled: false })], broken: [], nextCursor: null }) }));
  expect(await screen.findByText(/Nothing is scheduled/)).toBeInTheDocument();
});

test("a job that fails is said on the page, and so is one that was paused for it", async () => {
  const jobs = [
    aJob({ name: "Backup" }, { incident: anIncident({ count: 14, cause: "No answer.\nDetails" }) }),
    aJob({ id: "j2", name: "Mail", enabled: false }, { incident: anIncident({ pausedBecause: "Paused after 3 failures in a row" }) }),
    aJob({ id: "j3", name: "Off by hand", enabled: false }, { incident: anIncident() }),
    aJob({ id: "j4", name: "Well" }),
  ];
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs, broken: [], nextCursor: null }) }));
  expect((await screen.findByText("Backup")).parentElement).toHaveTextContent(/^Backup Failing since .* · 14 times · same cause$/);
  expect(screen.getByText("No answer.")).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "Open Backup" })).toHaveAttribute("href", "/jobs/job-1");
  expect(screen.getByRole("link", { name: "Open Mail" })).toHaveAttribute("href", "/jobs/j2");
  expect(screen.getByText("Mail").parentElement).toHaveTextContent("Mail Paused after 3 failures in a row");
  expect(screen.queryByText("Off by hand"), "somebody knows of it").not.toBeInTheDocument();
});

test("a model that does not answer is said with what helps", async () => {
  const failingModels = [{ provider: "openai", model: "gpt-5.6-luna", sinceMs: Date.now(), words: "The key is not accepted.\nmore", mend: "Bring a new key in OPENAI_API_KEY.", keyEnv: "OPENAI_API_KEY" }];
  renderApp("/", fakeHost({ "system.status": () => aStatus({ failingModels }) }));
  expect((await screen.findByText("gpt-5.6-luna · openai")).parentElement).toHaveTextContent(/^gpt-5.6-luna · openai has not answered since .*: The key is not accepted\.$/);
  expect(screen.getByText("Bring a new key in OPENAI_API_KEY.")).toBeInTheDocument();
});

test("jobs that fail are found behind the first page, and said to be more than could be counted", async () => {
  const failing = Array.from({ length: 6 }, (_, i) => aJob({ id: `f${i}`, name: `Late ${i}` }, { incident: anIncident() }));
  const host = fakeHost({ "cron.list": ({ hasIncident }) => ({ jobs: hasIncident ? failing : [aJob({ name: "Well" })], broken: [], nextCursor: "more" }) });
  renderApp("/", host);
  expect((await screen.findByText("Late 0")).parentElement).toHaveTextContent(/^Late 0 Failing since/);
  expect(screen.getByText(/^Over \d more jobs fail\.$/)).toBeInTheDocument();
  expect(host.called("cron.list")).toContainEqual({ includeDisabled: true, hasIncident: true, limit: 500 });
});

test("a job can be run now from its row", async () => {
  const host = fakeHost({ "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: soon() } })], broken: [], nextCursor: null }), "cron.run": () => ({ runId: "r" }), "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [], notes: [] }) });
  const { user } = renderApp("/", host);
  await user.click(await screen.findByRole("button", { name: "Run Backup now" }));
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "job-1", mode: "force" }]));
});

test("without a tray the window is where Rouse is quit, and a browser has no such button", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve({ tray: false, engine: "here" });
  const { user } = renderApp("/", host);
  await screen.findByText(/^This desktop shows no tray icon\..* While it is not running, no job fires\.$/);
  await user.click(screen.getByRole("button", { name: "Quit Rouse" }));
  expect(host.quit).toHaveBeenCalledOnce();
});

test("a window with a tray, and a browser, offer no quitting", async () => {
  for (const shell of [{ tray: true, engine: "here" } as const, null]) {
    const host = fakeHost();
    host.shellInfo = () => Promise.resolve(shell);
    renderApp("/", host);
    await screen.findByText("Nothing has run yet.");
    expect(screen.queryByRole("button", { name: "Quit Rouse" })).not.toBeInTheDocument();
    cleanup();
  }
});

test("a window whose engine is elsewhere says that quitting it stops no job", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve({ tray: false, engine: "elsewhere" });
  renderApp("/", host);
  expect(await screen.findByText(/Quitting it stops no job\.$/)).toBeInTheDocument();
});

test("notifications that do not get through are said with what helps, and not being able to is not", async () => {
  const reason = "No notification service runs here: start one, such as dunst";
  const host = fakeHost({ "system.status": () => aStatus({ notifications: { available: false, reason, failing: true } }) });
  renderApp("/", host);
  expect(await screen.findByText(`Notifications do not get through. ${reason}`)).toBeInTheDocument();
  cleanup();
  renderApp("/", fakeHost({ "system.status": () => aStatus({ notifications: { available: false, reason: "There is no desktop here.", failing: false } }) }));
  await screen.findByText("Nothing has run yet.");
  expect(screen.queryByText(/do not get through/)).not.toBeInTheDocument();
});

test("a pause is said on the page and ended there", async () => {
  const host = fakeHost({ "system.status": () => aStatus({ cron: { pause: { untilMs: null } } }), "cron.resume": () => aStatus().cron });
  const { user } = renderApp("/", host);
  await screen.findByText("Everything is paused until you resume it. What comes before that is left out.");
  await user.click(screen.getByRole("button", { name: "Resume" }));
  await waitFor(() => expect(host.called("cron.resume")).toHaveLength(1));
});

test("what comes before the end of a pause is not counted down to, and what comes at its end is", async () => {
  const end = soon();
  const jobs = [aJob({ id: "tea", name: "Tea", state: { nextRunAtMs: end - 60_000 } }), aJob({ id: "walk", name: "Walk", state: { nextRunAtMs: end } })];
  renderApp("/", fakeHost({
    "system.status": () => aStatus({ cron: { pause: { untilMs: end } } }),
    "cron.list": () => ({ jobs, broken: [], nextCursor: null }),
    "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [], notes: [] }),
  }));
  const row = async (name: string) => (await screen.findByRole("link", { name })).closest("li")!;
  expect(await within(await row("Tea")).findByText("left out: paused")).toBeInTheDocument();
  expect(within(await row("Walk")).getByText("in 2 h")).toBeInTheDocument();
  expect(within(await row("Walk")).queryByText(/left out/)).not.toBeInTheDocument();
});

test("the first start shows that a job has fired, tests notifications, looks for a model, and goes away", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ firstStart: { dismissed: false, exampleJobId: "ex", exampleRunId: "ex-run" } }),
    "deliveries.test": () => ({ id: "d", runId: null, channel: "notification", title: "Rouse", body: "", state: "delivered", attempts: 1, reason: null, createdAtMs: 0, nextAttemptAtMs: null, settledAtMs: 0, heldUntilMs: null, digestId: null }),
    "providers.list": () => ({ active: null, providers: [] }),
    "system.dismissFirstStart": () => ({ changed: true }),
  });
  const { user } = renderApp("/", host);
  expect(await screen.findByRole("link", { name: "See its run" })).toHaveAttribute("href", "/runs/ex-run");
  await user.click(screen.getByRole("button", { name: "Send a test" }));
  expect(await screen.findByText(/^The system has taken it\./)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Look again" }));
  await waitFor(() => expect(host.called("providers.list")).toContainEqual({ refresh: true }));
  expect(screen.queryByText("Start with the computer"), "a browser cannot do that").not.toBeInTheDocument();

  host.answers["system.status"] = () => aStatus();
  await user.click(screen.getByRole("button", { name: "Put this away" }));
  await waitFor(() => expect(screen.queryByText("Welcome to Rouse")).not.toBeInTheDocument());
  expect(host.called("system.dismissFirstStart")).toHaveLength(1);
});

test("where there is no desktop the first start has no step that could never be done", async () => {
  renderApp("/", fakeHost({ "system.status": () => aStatus({ firstStart: { dismissed: false, exampleJobId: null, exampleRunId: null }, notifications: { available: false, reason: "Rouse runs without a desktop here.", failing: false } }) }));
  const steps = within((await screen.findByText("Welcome to Rouse")).closest("section")!);
  expect(steps.getByRole("heading", { name: "Connect a model" })).toBeInTheDocument();
  expect(steps.queryByRole("heading", { name: "Notifications" })).not.toBeInTheDocument();
});

test("what stands in the way leads to the section that mends it", async () => {
  const failingModels = [{ provider: "openai", model: "gpt-5.6-luna", sinceMs: Date.now(), words: "no", mend: "Bring a new key.", keyEnv: null }];
  const host = fakeHost({
    "system.status": () => aStatus({ failingModels, cron: { enabled: false }, notifications: { available: false, reason: null, failing: true } }),
    "cron.list": () => ({ jobs: [aJob({}, { incident: anIncident({ cause: "No model is set up. Start one." }) })], broken: [], nextCursor: null }),
  });
  renderApp("/", host);
  const link = async (words: RegExp, name: string) => within((await screen.findByText(words)).closest<HTMLElement>("div:has(> a, > div > a)")!).getByRole("link", { name });
  expect(await link(/^Notifications do not get through/, "Settings")).toHaveAttribute("href", "/settings#notifications");
  expect(await link(/^Scheduling is switched off/, "Settings")).toHaveAttribute("href", "/settings#scheduling");
  expect(await link(/^Bring a new key/, "Settings")).toHaveAttribute("href", "/settings#model");
  expect(await link(/^No model is set up/, "Set a model up")).toHaveAttribute("href", "/settings#model");
});

test("a test that cannot be shown says why, and a job of one's own is a step that is done", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ firstStart: { dismissed: false, exampleJobId: "ex", exampleRunId: null } }),
    "cron.list": () => ({ jobs: [aJob({ id: "ex" }), aJob({ id: "own" })], broken: [], nextCursor: null }),
    "deliveries.test": () => ({ id: "d", runId: null, channel: "notification", title: "Rouse", body: "", state: "suppressed", attempts: 0, reason: "There is no desktop here.", createdAtMs: 0, nextAttemptAtMs: null, settledAtMs: 0, heldUntilMs: null, digestId: null }),
  });
  const { user } = renderApp("/", host);
  expect(await screen.findByText("There is 1 job of yours.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Send a test" }));
  expect(await screen.findByText("Nothing was shown. There is no desktop here.")).toBeInTheDocument();
});

test("a job that failed for want of a model says that there is one now", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ model: "llama3.2" }),
    "cron.list": () => ({ jobs: [aJob({}, { incident: anIncident({ cause: "No model is set up. Start one." }) })], broken: [], nextCursor: null }),
  });
  renderApp("/", host);
  expect(await screen.findByText(/^There was no model then\./)).toBeInTheDocument();
  expect(screen.queryByText(/No model is set up/)).not.toBeInTheDocument();
});

test("what does not fire while everything is off is not announced as coming", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(2026, 10, 21, 12, 0, 0) });
  onTestFinished(() => void vi.useRealTimers());
  const at = Date.now() + 3_600_000;
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: at } })], broken: [], nextCursor: null }),
    "cron.preview": () => ({ text: "", zone: "UTC", localZone: "UTC", next: [{ atMs: at, jobTime: "", localTime: "", note: null }], notes: [] }),
  });
  renderApp("/", host);
  expect(await screen.findByRole("img", { name: /1 to come/ })).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus({ cron: { enabled: false } });
  host.emit("config", {});
  await screen.findByText(/^Scheduling is switched off/);
  expect(screen.queryByRole("img", { name: /to come/ })).not.toBeInTheDocument();
});

test("what needs the person stands above everything, and can be denied there but not allowed unseen", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const waiting = Array.from({ length: 5 }, (_, i) => anApproval({ id: `ask-${i}`, jobName: `Job ${i}` }));
  const host = fakeHost({
    "approvals.list": () => ({ approvals: waiting }),
    "approvals.decide": ({ id }) => ({ counts: true, approval: anApproval({ id, state: "denied", decidedAtMs: noon, answeredFrom: "page" }) }),
  });
  const { user } = renderApp("/", host);
  const list = await screen.findByRole("list", { name: "Waiting questions" });
  expect(within(list).getAllByRole("listitem")).toHaveLength(3);
  expect(within(list).queryByRole("button", { name: /allow/i })).not.toBeInTheDocument();
  expect(within(list).getAllByText(/^Waits for/)[0]).toHaveTextContent("Waits for 1 min. Holds up: only this run. Later runs of the job do not wait for it.");
  expect(screen.getByRole("link", { name: "All 5" })).toHaveAttribute("href", "/approvals");
  expect(within(list).getByRole("link", { name: "Review write_file in Job 0" })).toHaveAttribute("href", "/approvals/ask-0");
  await user.click(within(list).getByRole("button", { name: "Deny write_file in Job 0" }));
  expect(host.called("approvals.decide"), "a click that was meant for something else").toEqual([]);
  await waitFor(async () => {
    await user.click(within(list).getByRole("button", { name: "Deny write_file in Job 0" }));
    expect(host.called("approvals.decide")).toEqual([{ id: "ask-0", answer: { kind: "deny" }, from: "page" }]);
  });
});
