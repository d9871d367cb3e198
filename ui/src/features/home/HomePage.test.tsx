import { cleanup, screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import {
  aDelivery,
  aJob,
  anApproval,
  anIncident,
  aPermission,
  aPreview,
  aRun,
  aShell,
  aStatus,
  noon,
} from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const soon = () => Date.now() + 7_200_000;

test("five jobs are next, eight runs were lately", async () => {
  const jobs = Array.from({ length: 7 }, (_, i) =>
    aJob({ id: `j${i}`, name: `Job ${i}`, state: { nextRunAtMs: soon() + i } }),
  );
  const runs = Array.from({ length: 20 }, (_, i) => aRun({ id: `r${i}` }));
  renderApp(
    "/",
    fakeHost({
      "cron.list": () => ({ jobs, broken: [], nextCursor: null }),
      "runs.list": () => ({ runs, nextCursor: null, total: 20 }),
      "cron.preview": () => aPreview(),
    }),
  );
  const next = await screen.findByRole("list", { name: "Upcoming runs" });
  expect(within(next).getAllByRole("listitem")).toHaveLength(5);
  expect(within(await screen.findByRole("list", { name: "Recent runs" })).getAllByRole("listitem")).toHaveLength(8);
});

test("reminder named by its text shows the text once", async () => {
  const named = (id: string, name: string, text: string) =>
    aJob({ id, name, payload: { kind: "systemEvent", text }, state: { nextRunAtMs: soon() } });
  const jobs = [named("a", "Stretch your legs", "Stretch your legs."), named("b", "Tea", "The tea is ready.")];
  renderApp(
    "/",
    fakeHost({
      "cron.list": () => ({ jobs, broken: [], nextCursor: null }),
      "cron.preview": () => aPreview(),
    }),
  );
  const next = within(await screen.findByRole("list", { name: "Upcoming runs" }));
  expect(next.getByText("The tea is ready.")).toBeInTheDocument();
  expect(next.getAllByText(/Stretch your legs/)).toHaveLength(1);
});

test("jobs that never come next are not offered as next", async () => {
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs: [aJob({ enabled: false })], broken: [], nextCursor: null }) }));
  expect(await screen.findByText(/Nothing scheduled/)).toBeInTheDocument();
});

test("failing and paused jobs show on Home", async () => {
  const jobs = [
    aJob({ name: "Backup" }, { incident: anIncident({ count: 14, cause: "No answer.\nDetails" }) }),
    aJob(
      { id: "j2", name: "Mail", enabled: false },
      { incident: anIncident({ pausedBecause: "Paused after 3 failures in a row" }) },
    ),
    aJob({ id: "j3", name: "Off by hand", enabled: false }, { incident: anIncident() }),
    aJob({ id: "j4", name: "Well" }),
  ];
  renderApp("/", fakeHost({ "cron.list": () => ({ jobs, broken: [], nextCursor: null }) }));
  expect((await screen.findByText("Backup")).parentElement).toHaveTextContent(
    /^Backup Failing since .* · 14 times · same cause$/,
  );
  expect(screen.getByText("No answer.")).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "Open Backup" })).toHaveAttribute("href", "/jobs/job-1");
  expect(screen.getByRole("link", { name: "Open Mail" })).toHaveAttribute("href", "/jobs/j2");
  expect(screen.getByText("Mail").parentElement).toHaveTextContent("Mail Paused after 3 failures in a row");
  expect(screen.queryByText("Off by hand"), "somebody knows of it").not.toBeInTheDocument();
});

test("failing model shows its remediation", async () => {
  const failingModels = [
    {
      provider: "openai",
      model: "gpt-5.6-luna",
      sinceMs: Date.now(),
      message: "The key is not accepted.\nmore",
      fix: "Bring a new key in OPENAI_API_KEY.",
      keyEnv: "OPENAI_API_KEY",
    },
  ];
  renderApp("/", fakeHost({ "system.status": () => aStatus({ failingModels }) }));
  expect((await screen.findByText("gpt-5.6-luna · openai")).parentElement).toHaveTextContent(
    /^gpt-5.6-luna · openai has not responded since .*: The key is not accepted\.$/,
  );
  expect(screen.getByText("Bring a new key in OPENAI_API_KEY.")).toBeInTheDocument();
});

test("failing jobs beyond the first page are counted", async () => {
  const failing = Array.from({ length: 6 }, (_, i) =>
    aJob({ id: `f${i}`, name: `Late ${i}` }, { incident: anIncident() }),
  );
  const host = fakeHost({
    "cron.list": ({ hasIncident }) => ({
      jobs: hasIncident ? failing : [aJob({ name: "Well" })],
      broken: [],
      nextCursor: "more",
    }),
  });
  renderApp("/", host);
  expect((await screen.findByText("Late 0")).parentElement).toHaveTextContent(/^Late 0 Failing since/);
  expect(screen.getByText(/^Over \d more jobs are failing\.$/)).toBeInTheDocument();
  expect(host.called("cron.list")).toContainEqual({ includeDisabled: true, hasIncident: true, limit: 500 });
});

test("job row runs the job now", async () => {
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: soon() } })], broken: [], nextCursor: null }),
    "cron.run": () => ({ runId: "r" }),
    "cron.preview": () => aPreview(),
  });
  const { user } = renderApp("/", host);
  await user.click(await screen.findByRole("button", { name: "Run Backup now" }));
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "job-1", mode: "force" }]));
});

test("missing tray offers Quit in the window only", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve(aShell({ tray: false }));
  const { user } = renderApp("/", host);
  await screen.findByText(/^This desktop shows no tray icon\..* No job runs after you quit\.$/);
  await user.click(screen.getByRole("button", { name: "Quit Rouse" }));
  expect(host.quit).toHaveBeenCalledOnce();
});

test("quit is hidden with a tray and in a browser", async () => {
  for (const shell of [aShell(), null]) {
    const host = fakeHost();
    host.shellInfo = () => Promise.resolve(shell);
    renderApp("/", host);
    await screen.findByText("No runs yet.");
    expect(screen.queryByRole("button", { name: "Quit Rouse" })).not.toBeInTheDocument();
    cleanup();
  }
});

test("attached window explains that quitting stops no job", async () => {
  const host = fakeHost();
  host.shellInfo = () => Promise.resolve(aShell({ tray: false, engine: "elsewhere" }));
  renderApp("/", host);
  expect(await screen.findByText(/Quitting does not stop jobs\.$/)).toBeInTheDocument();
});

test("failing notifications show help and missing ones do not", async () => {
  const reason = "No notification service runs here: start one, such as dunst";
  const host = fakeHost({
    "system.status": () => aStatus({ notifications: { available: false, reason, failing: true } }),
  });
  renderApp("/", host);
  expect(await screen.findByText(`Notifications are not delivered. ${reason}`)).toBeInTheDocument();
  cleanup();
  renderApp(
    "/",
    fakeHost({
      "system.status": () =>
        aStatus({ notifications: { available: false, reason: "There is no desktop here.", failing: false } }),
    }),
  );
  await screen.findByText("No runs yet.");
  expect(screen.queryByText(/are not delivered/)).not.toBeInTheDocument();
});

test("pause shows on Home and can be ended", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ cron: { pause: { untilMs: null } } }),
    "cron.resume": () => aStatus().cron,
  });
  const { user } = renderApp("/", host);
  await screen.findByText("All jobs are paused until you resume them. Runs due before then are skipped.");
  await user.click(screen.getByRole("button", { name: "Resume" }));
  await waitFor(() => expect(host.called("cron.resume")).toHaveLength(1));
});

test("slots before the end of a pause have no countdown", async () => {
  const end = soon();
  const jobs = [
    aJob({ id: "tea", name: "Tea", state: { nextRunAtMs: end - 60_000 } }),
    aJob({ id: "walk", name: "Walk", state: { nextRunAtMs: end } }),
  ];
  renderApp(
    "/",
    fakeHost({
      "system.status": () => aStatus({ cron: { pause: { untilMs: end } } }),
      "cron.list": () => ({ jobs, broken: [], nextCursor: null }),
      "cron.preview": () => aPreview(),
    }),
  );
  const row = async (name: string) => (await screen.findByRole("link", { name })).closest("li")!;
  expect(await within(await row("Tea")).findByText("skipped: paused")).toBeInTheDocument();
  expect(within(await row("Walk")).getByText("in 2 h")).toBeInTheDocument();
  expect(within(await row("Walk")).queryByText(/skipped/)).not.toBeInTheDocument();
});

test("first start shows steps and can be dismissed", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ firstStart: { dismissed: false, exampleJobId: "ex", exampleRunId: "ex-run" } }),
    "deliveries.test": () => aDelivery({ runId: null, state: "delivered", attempts: 1 }),
    "providers.list": () => ({ active: null, providers: [] }),
    "system.dismissFirstStart": () => ({ changed: true }),
  });
  const { user } = renderApp("/", host);
  expect(await screen.findByRole("link", { name: "View run" })).toHaveAttribute("href", "/runs/ex-run");
  await user.click(screen.getByRole("button", { name: "Send test" }));
  expect(await screen.findByText(/^Accepted by the system\./)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Search again" }));
  await waitFor(() => expect(host.called("providers.list")).toContainEqual({ refresh: true }));
  expect(screen.queryByText("Start at login"), "a browser cannot do that").not.toBeInTheDocument();

  host.answers["system.status"] = () => aStatus();
  await user.click(screen.getByRole("button", { name: "Dismiss" }));
  await waitFor(() => expect(screen.queryByText("Welcome to Rouse")).not.toBeInTheDocument());
  expect(host.called("system.dismissFirstStart")).toHaveLength(1);
});

test("first start without a desktop omits notifications", async () => {
  renderApp(
    "/",
    fakeHost({
      "system.status": () =>
        aStatus({
          firstStart: { dismissed: false, exampleJobId: null, exampleRunId: null },
          notifications: { available: false, reason: "Rouse runs without a desktop here.", failing: false },
        }),
    }),
  );
  const steps = within((await screen.findByText("Welcome to Rouse")).closest("section")!);
  expect(steps.getByRole("heading", { name: "Connect a model" })).toBeInTheDocument();
  expect(steps.queryByRole("heading", { name: "Notifications" })).not.toBeInTheDocument();
});

test("problem notices link to their settings section", async () => {
  const failingModels = [
    {
      provider: "openai",
      model: "gpt-5.6-luna",
      sinceMs: Date.now(),
      message: "no",
      fix: "Bring a new key.",
      keyEnv: null,
    },
  ];
  const host = fakeHost({
    "system.status": () =>
      aStatus({
        failingModels,
        cron: { enabled: false },
        notifications: { available: false, reason: null, failing: true },
      }),
    "cron.list": () => ({
      jobs: [aJob({}, { incident: anIncident({ cause: "No model is set up. Start one." }) })],
      broken: [],
      nextCursor: null,
    }),
  });
  renderApp("/", host);
  const link = async (words: RegExp, name: string) =>
    within((await screen.findByText(words)).closest<HTMLElement>("div:has(> a, > div > a)")!).getByRole("link", {
      name,
    });
  expect(await link(/^Notifications are not delivered/, "Settings")).toHaveAttribute("href", "/settings#notifications");
  expect(await link(/^Scheduling is off/, "Settings")).toHaveAttribute("href", "/settings#scheduling");
  expect(await link(/^Bring a new key/, "Settings")).toHaveAttribute("href", "/settings#model");
  expect(await link(/^No model is set up/, "Connect a model")).toHaveAttribute("href", "/settings#model");
});

test("failed test shows its reason and own job completes a step", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ firstStart: { dismissed: false, exampleJobId: "ex", exampleRunId: null } }),
    "cron.list": () => ({ jobs: [aJob({ id: "ex" }), aJob({ id: "own" })], broken: [], nextCursor: null }),
    "deliveries.test": () => aDelivery({ runId: null, state: "suppressed", reason: "There is no desktop here." }),
  });
  const { user } = renderApp("/", host);
  expect(await screen.findByText("You have 1 job.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Send test" }));
  expect(await screen.findByText("Nothing was shown. There is no desktop here.")).toBeInTheDocument();
});

test("missing model incident mentions the connected model", async () => {
  const host = fakeHost({
    "system.status": () => aStatus({ model: "llama3.2" }),
    "cron.list": () => ({
      jobs: [aJob({}, { incident: anIncident({ cause: "No model is set up. Start one." }) })],
      broken: [],
      nextCursor: null,
    }),
  });
  renderApp("/", host);
  expect(await screen.findByText(/^No model was set up then\./)).toBeInTheDocument();
  expect(screen.queryByText(/No model is set up/)).not.toBeInTheDocument();
});

test("disabled scheduler hides future ticks", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(2026, 10, 21, 12, 0, 0) });
  onTestFinished(() => void vi.useRealTimers());
  const at = Date.now() + 3_600_000;
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ state: { nextRunAtMs: at } })], broken: [], nextCursor: null }),
    "cron.preview": () => aPreview({ next: [{ atMs: at, jobTime: "", localTime: "", note: null }] }),
  });
  renderApp("/", host);
  expect(await screen.findByRole("img", { name: /1 to come/ })).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus({ cron: { enabled: false } });
  host.emit("config", {});
  await screen.findByText(/^Scheduling is off/);
  expect(screen.queryByRole("img", { name: /to come/ })).not.toBeInTheDocument();
});

test("pending approval can be denied but not allowed on Home", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const waiting = Array.from({ length: 5 }, (_, i) => anApproval({ id: `ask-${i}`, jobName: `Job ${i}` }));
  const host = fakeHost({
    "approvals.list": () => ({ approvals: waiting }),
    "approvals.decide": ({ id }) => ({
      applied: true,
      approval: anApproval({ id, state: "denied", decidedAtMs: noon, decidedFrom: "page" }),
    }),
  });
  const { user } = renderApp("/", host);
  const list = await screen.findByRole("list", { name: "Pending approvals" });
  expect(within(list).getAllByRole("listitem")).toHaveLength(3);
  expect(within(list).queryByRole("button", { name: /allow/i })).not.toBeInTheDocument();
  expect(within(list).getAllByText(/^Requested/)[0]).toHaveTextContent(
    "Requested 1 min ago. Blocks: only this run. Later runs of the job are not blocked.",
  );
  expect(screen.getByRole("link", { name: "All 5" })).toHaveAttribute("href", "/approvals");
  expect(within(list).getByRole("link", { name: "Review write_file in Job 0" })).toHaveAttribute(
    "href",
    "/approvals/ask-0",
  );
  await user.click(within(list).getByRole("button", { name: "Deny write_file in Job 0" }));
  expect(host.called("approvals.decide"), "a click that was meant for something else").toEqual([]);
  await waitFor(async () => {
    await user.click(within(list).getByRole("button", { name: "Deny write_file in Job 0" }));
    expect(host.called("approvals.decide")).toEqual([{ id: "ask-0", decision: { kind: "deny" }, from: "page" }]);
  });
});

test("permission on Home names the agent and its action", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  renderApp("/", fakeHost({ "approvals.list": () => ({ approvals: [aPermission()] }) }));
  const card = within(await screen.findByRole("list", { name: "Pending approvals" }));
  expect(card.getByText("claude-code", { selector: "code" }).parentElement).toHaveTextContent(
    "claude-code in “Weekly notes”",
  );
  expect(card.getByText("Edit today.md")).toBeInTheDocument();
  const review = card.getByRole("link", { name: "Review claude-code: Edit today.md in Weekly notes" });
  expect(review).toHaveAttribute("href", "/approvals/ask-1");
  expect(card.getByRole("button", { name: "Deny claude-code: Edit today.md in Weekly notes" })).toBeInTheDocument();
});
