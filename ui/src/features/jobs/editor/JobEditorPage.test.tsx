import { screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { localZone } from "@/format/time";
import { wallTime } from "@/format/wall";
import { errorCode, type Job, RpcError, type Schedule } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anIncident, aPreview, aStatus, aTool, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const http = aTool({ description: "Fetches a URL." });
const preview = aPreview({
  text: "Weekdays at 09:00",
  next: [
    {
      atMs: noon,
      jobTime: "2026-11-21T10:00+00:00",
      localTime: "2026-11-21T10:00+00:00",
      note: "The clock goes back.",
    },
  ],
});

function hostWith(job: Job = aJob().job) {
  let current = job;
  return fakeHost({
    "cron.get": () => aJob({ ...current }),
    "cron.add": (draft) => aJob({ ...draft, schedule: draft.schedule as Schedule, id: "job-new" }),
    "cron.update": ({ patch }) => {
      current = { ...current, ...patch, state: { ...current.state, revision: current.state.revision + 1 } };
      return aJob({ ...current });
    },
    "cron.preview": () => preview,
    "tools.catalog": () => ({ tools: [http], refused: [] }),
  });
}

type User = ReturnType<typeof renderApp>["user"];

/** Pastes the text, which is faster than typing. */
async function write(user: User, field: HTMLElement, text: string) {
  await user.click(field);
  await user.paste(text);
}

const save = () => screen.getByRole("button", { name: "Save" });
const name = () => screen.findByRole("textbox", { name: "Name" });

test("new reminder is saved and opens its page", async () => {
  const host = hostWith();
  const { user, path } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  await write(user, screen.getByRole("textbox", { name: "Reminder" }), "Stand up.");
  await user.click(save());
  await waitFor(() => expect(path()).toBe("/jobs/job-new"));
  expect(host.called("cron.add")[0]).toMatchObject({
    name: "Stretch",
    sessionTarget: "main",
    payload: { kind: "systemEvent", text: "Stand up." },
    schedule: { kind: "cron", expr: "0 9 * * 1-5" },
  });
});

test("preview shows schedule, clock notes and cost", async () => {
  renderApp("/jobs/new", hostWith());
  const panel = await screen.findByRole("complementary", { name: "Job preview" });
  expect(await within(panel).findByText("Weekdays at 09:00.")).toBeInTheDocument();
  expect(within(panel).getByText("The clock goes back.")).toBeInTheDocument();
  expect(await within(panel).findByText("No model, no cost.")).toBeInTheDocument();
});

test("preview requests the schedule to be saved", async () => {
  const job = aJob({ id: "job-7", schedule: { kind: "every", everyMs: 3_600_000, anchorMs: 7, jitterMs: 500 } }).job;
  const host = hostWith(job);
  renderApp("/jobs/job-7", host);
  await waitFor(() =>
    expect(host.called("cron.preview")).toContainEqual({ schedule: job.schedule, id: "job-7", delivery: {} }),
  );
});

test("placeholders show the defaults", async () => {
  const imported = aJob({
    id: "job-7",
    payload: { kind: "agentTurn", message: "Look", timeoutSeconds: 90 },
    policies: { overlap: "parallel", misfire: { mode: "runAll" } },
  }).job;
  const { user } = renderApp("/jobs/job-7", hostWith(imported));
  const says = (name: string, words: string) =>
    expect(screen.getByRole("textbox", { name: new RegExp(name) })).toHaveAttribute("placeholder", words);
  await name();
  await user.click(screen.getByRole("button", { name: /Advanced/ }));
  says("Time limit", "1.5");
  says("Concurrent runs", "2");
  says("Catch-up limit", "10");
  says("Max lateness", "Any");
  expect(screen.getByRole("textbox", { name: /^Max lateness/ })).toHaveAccessibleDescription(
    "A later run counts as missed. [default: any]",
  );
});

test("run-once misfire explains max lateness by the newest slot", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith());
  await name();
  await user.click(screen.getByRole("button", { name: /Advanced/ }));
  expect(screen.getByRole("textbox", { name: /^Max lateness/ })).toHaveAccessibleDescription(
    "If the newest missed slot is older, nothing is caught up. [default: any]",
  );
});

test("max lateness shows for skipped slots too", async () => {
  const job = aJob({ id: "job-7", policies: { misfire: { mode: "skip", maxLatenessSeconds: 30 } } }).job;
  const host = hostWith(job);
  const { user } = renderApp("/jobs/job-7", host);
  await name();
  const late = screen.getByRole("textbox", { name: /Max lateness/ });
  expect(late).toHaveValue("30");
  await user.clear(late);
  await user.tab();
  expect(late).toHaveAttribute("placeholder", "60");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([
      { id: "job-7", expectedRevision: 1, patch: { policies: { misfire: { maxLatenessSeconds: null } } } },
    ]),
  );
});

test("imported quiet hours are shown and kept until replaced", async () => {
  const job = aJob({
    id: "job-7",
    policies: { quietHours: { from: "21:00", to: "06:30", tz: "Asia/Tokyo", days: ["fri"] } },
  }).job;
  const host = hostWith(job);
  const { user } = renderApp("/jobs/job-7", host);
  await name();
  const choice = screen.getByRole("button", { name: /Quiet hours/ });
  expect(choice).toHaveTextContent("Custom (imported)");
  expect(screen.getByText("Custom: 21:00–06:30, fri, Asia/Tokyo.")).toBeInTheDocument();
  await user.click(choice);
  await user.click(screen.getByRole("option", { name: "Ignore" }));
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([
      { id: "job-7", expectedRevision: 1, patch: { policies: { quietHours: "ignore" } } },
    ]),
  );
});

test("only known event sources can be chosen", async () => {
  const imported = aJob({ id: "job-7", enabled: false, schedule: { kind: "event", source: "github" } }).job;
  const { user } = renderApp("/jobs/job-7", hostWith(imported));
  await name();
  const source = screen.getByRole("button", { name: /Event source/ });
  expect(source).toHaveTextContent("github");
  expect(screen.getByText(/Rouse receives no events from “github”/)).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Source" })).not.toBeInTheDocument();
  await user.click(source);
  await user.click(await screen.findByRole("option", { name: "Wake request" }));
  expect(screen.queryByText(/Rouse receives no events from/)).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /Event source/ }));
  expect((await screen.findAllByRole("option")).map((option) => option.textContent)).toEqual([
    "Another job finishes",
    "Wake request",
    "System event from a job",
    "Webhook call",
  ]);
});

test("job with a deleted trigger shows a notice", async () => {
  const after = aJob(
    { id: "job-7", schedule: { kind: "event", source: "job", filters: { jobId: "z" } } },
    { isPredecessorMissing: true },
  );
  const host = hostWith(after.job);
  host.answers["cron.get"] = () => after;
  renderApp("/jobs/job-7", host);
  expect(await screen.findByText(/The trigger job was deleted/)).toBeInTheDocument();
  await waitFor(() => expect(screen.getByRole("combobox", { name: /After/ })).toHaveValue("Deleted job"));
});

test("days and cron expression update each other", async () => {
  const { user } = renderApp("/jobs/new", hostWith());
  const pattern = await screen.findByRole("textbox", { name: /Cron expression/ });
  const days = within(screen.getByRole("toolbar", { name: "Days of the week" }));
  await user.click(days.getByRole("button", { name: "Sat" }));
  expect(pattern).toHaveValue("0 9 * * 1-6");
  await user.clear(pattern);
  await write(user, pattern, "15 8 * * 0");
  expect(days.getAllByRole("button", { pressed: true }).map((day) => day.textContent)).toEqual(["Sun"]);
  await user.clear(pattern);
  await write(user, pattern, "*/5 * * * *");
  expect(screen.getByText(/cannot be shown as days and times/)).toBeInTheDocument();
});

test("engine errors show at fields and others above the form", async () => {
  const host = hostWith();
  host.answers["cron.add"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "no", {
        fields: [
          { path: "payload.text", message: "is required" },
          { path: "isolation.postToMainPrefix", message: "expected a text" },
        ],
      }),
    );
  const { user } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  const text = screen.getByRole("textbox", { name: "Reminder" });
  await write(user, text, "Stand up.");
  await user.click(save());
  await waitFor(() => expect(text).toBeInvalid());
  expect(text).toHaveAccessibleDescription("This is required.");
  expect(screen.getByText("isolation.postToMainPrefix")).toBeInTheDocument();
  await waitFor(() => expect(text).toHaveFocus());
});

test("all missing fields are reported before sending", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/new", host);
  const field = await name();
  await user.click(save());
  await waitFor(() => expect(field).toHaveAccessibleDescription("Add a name."));
  expect(screen.getByRole("textbox", { name: "Reminder" })).toHaveAccessibleDescription("Add a reminder.");
  expect(host.called("cron.add")).toEqual([]);
});

test("quick choice sets a near time", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostWith();
  const { user, path } = renderApp("/jobs/new", host);
  await write(user, await name(), "Tea");
  await write(user, screen.getByRole("textbox", { name: "Reminder" }), "It is ready.");
  await user.click(screen.getByRole("radio", { name: "Once" }));
  await user.click(screen.getByRole("button", { name: "In 20 minutes" }));
  await user.click(save());
  await waitFor(() => expect(path()).toBe("/jobs/job-new"));
  expect(host.called("cron.add")[0]).toMatchObject({
    schedule: { kind: "at", at: wallTime(noon + 20 * 60_000, localZone()), tz: localZone() },
  });
});

test("tool with partial approval is listed once", async () => {
  const host = hostWith();
  const tools = [aTool({ approval: "never", destructive: true, openWorld: true })];
  host.answers["tools.effective"] = () => ({ tools, withheld: [], ceiling: null, problem: null });
  const { user } = renderApp("/jobs/new", host);
  await name();
  await user.click(screen.getByRole("radio", { name: "Agent task" }));
  const panel = screen.getByRole("complementary", { name: "Job preview" });
  expect(await within(panel).findByText("http")).toBeInTheDocument();
  expect(within(panel).getByText("(some calls)")).toBeInTheDocument();
  expect(within(panel).getByText("No tool.")).toBeInTheDocument();
});

test("tool arguments are validated before sending", async () => {
  const host = hostWith(
    aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" } } }).job,
  );
  const { user } = renderApp("/jobs/job-1", host);
  const url = await screen.findByRole("textbox", { name: "url" });
  await user.clear(url);
  await user.click(save());
  expect(await screen.findByText("This is required.")).toBeInTheDocument();
  expect(host.called("cron.update")).toEqual([]);
  await write(user, url, "https://b.example");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([
      { id: "job-1", patch: { payload: { arguments: { url: "https://b.example" } } }, expectedRevision: 1 },
    ]),
  );
  expect(await screen.findByText("Saved")).toBeInTheDocument();
  expect(save()).toBeDisabled();
});

test("unsaved condition is tested on the last result", async () => {
  const host = hostWith(
    aJob({
      payload: {
        kind: "toolCall",
        tool: "http",
        arguments: { url: "https://a.example" },
        notifyWhen: { cel: "result.level < 20" },
      },
    }).job,
  );
  host.answers["cron.tryCondition"] = ({ cel }) =>
    cel.endsWith("<")
      ? { problem: "at character 14: something is missing", holds: null, on: null }
      : { problem: null, holds: true, on: { runId: "run-1", atMs: noon, result: { level: 17 }, previous: null } };
  const { user } = renderApp("/jobs/job-1", host);
  const condition = await screen.findByRole("textbox", { name: "Condition" });
  expect(condition).toHaveValue("result.level < 20");
  const tryIt = screen.getByRole("button", { name: "Test with the last result" });
  await user.click(tryIt);
  expect(await screen.findByText("True: you would be notified.")).toBeInTheDocument();
  expect(screen.getByRole("region", { name: "Last result" })).toHaveTextContent('"level": 17');
  await user.clear(condition);
  await write(user, condition, "result.level <");
  expect(screen.queryByText("True: you would be notified."), "it was about other words").not.toBeInTheDocument();
  await user.click(tryIt);
  expect(await screen.findByText("At character 14: something is missing.")).toBeInTheDocument();
  expect(host.called("cron.tryCondition").at(-1)).toEqual({ id: "job-1", cel: "result.level <" });
  await user.clear(condition);
  await write(user, condition, "result.level < 10");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([
      { id: "job-1", patch: { payload: { notifyWhen: { cel: "result.level < 10" } } }, expectedRevision: 1 },
    ]),
  );
});

test("paused job shows its reason and can be resumed", async () => {
  const job = aJob({ enabled: false }).job;
  const host = hostWith(job);
  host.answers["cron.get"] = () =>
    aJob({ ...job }, { incident: anIncident({ pausedBecause: "Paused after 3 failures in a row" }) });
  const { user } = renderApp("/jobs/job-1", host);
  expect(await screen.findByText("Paused after 3 failures in a row: no network")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Resume" }));
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([expect.objectContaining({ id: "job-1", patch: { enabled: true } })]),
  );
});

test("remotely changed job is not overwritten", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await write(user, await name(), "!");
  host.answers["cron.update"] = () => Promise.reject(new RpcError(errorCode.stale, "stale"));
  host.answers["cron.get"] = () => aJob({ name: "Renamed", state: { revision: 2 } });
  host.emit("cron", { jobId: "job-1", action: "updated" });
  await user.click(await screen.findByRole("button", { name: "Show the new version" }));
  expect(await name()).toHaveValue("Renamed");
  expect(save()).toBeDisabled();
});

test("remote change applies to a clean form and a run does not", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  host.answers["cron.get"] = () => aJob({ name: "Renamed", state: { revision: 2 } });
  host.emit("cron", { jobId: "job-1", action: "updated" });
  await waitFor(async () => expect(await name()).toHaveValue("Renamed"));
  await write(user, await name(), "!");
  host.answers["cron.get"] = () =>
    aJob({ name: "Renamed", enabled: false, state: { revision: 3, lastState: "failed" } });
  host.emit("cron", { jobId: "job-1", action: "finished" });
  await waitFor(() => expect(screen.getByRole("switch", { name: "Active" })).not.toBeChecked());
  expect(screen.queryByText(/changed elsewhere/)).not.toBeInTheDocument();
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { name: "Renamed!" }, expectedRevision: 3 }]),
  );
});

test("leaving asks first only with changes", async () => {
  const { user, path } = renderApp("/jobs/job-1", hostWith());
  await write(user, await name(), "!");
  await user.click(screen.getByRole("link", { name: "Runs" }));
  const question = await screen.findByRole("alertdialog", { name: "Leave without saving?" });
  await user.click(within(question).getByRole("button", { name: "Cancel" }));
  expect(path()).toBe("/jobs/job-1");
  await user.clear(await name());
  await write(user, await name(), "Backup");
  await user.click(screen.getByRole("link", { name: "Runs" }));
  await waitFor(() => expect(path()).toBe("/runs"));
});

test("copy starts with all values of the job", async () => {
  const host = hostWith({ ...aJob().job, "x-mine": 1 } as unknown as Job);
  const { user } = renderApp("/jobs/new?from=job-1", host);
  expect(await name()).toHaveValue("Backup copy");
  host.answers["tools.catalog"] = () => ({ tools: [], refused: [] });
  await user.click(await screen.findByRole("radio", { name: "Reminder" }));
  await write(user, screen.getByRole("textbox", { name: "Reminder" }), "x");
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.add")[0]).toMatchObject({
      name: "Backup copy",
      "x-mine": 1,
      payload: { kind: "systemEvent", text: "x" },
      sessionTarget: "main",
    }),
  );
  expect(host.called("cron.add")[0]).not.toHaveProperty("id");
});

test("deleted job shows not found", async () => {
  renderApp("/jobs/nope", fakeHost());
  expect(await screen.findByText("Job not found")).toBeInTheDocument();
});

test("trigger job can be chosen and a pattern error shows", async () => {
  const host = hostWith();
  host.answers["cron.list"] = () => ({ jobs: [aJob({ id: "job-7", name: "Backup" })], broken: [], nextCursor: null });
  host.answers["cron.preview"] = ({ schedule }) =>
    "pattern" in schedule
      ? Promise.reject(
          new RpcError(errorCode.invalidParams, "no", {
            fields: [{ path: "schedule.pattern", message: "is no regular expression: unclosed group" }],
          }),
        )
      : preview;
  const { user } = renderApp("/jobs/new", host);
  await write(user, await name(), "Check");
  await write(user, screen.getByRole("textbox", { name: "Reminder" }), "Look.");
  await user.click(screen.getByRole("radio", { name: "Event" }));
  await user.click(screen.getByRole("combobox", { name: "After job" }));
  await user.click(await screen.findByRole("option", { name: "Backup" }));
  const pattern = screen.getByRole("textbox", { name: "Text pattern" });
  await write(user, pattern, "(");
  await waitFor(() => expect(pattern).toHaveAccessibleDescription("This is no regular expression: unclosed group."));
  await user.clear(pattern);
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")).toHaveLength(1));
  expect(host.called("cron.add")[0]).toMatchObject({
    schedule: { kind: "event", source: "job", filters: { jobId: "job-7", status: "ok" } },
  });
});

test("webhook shows URL, one-time secret and command", async () => {
  const host = hostWith(aJob({ schedule: { kind: "webhook" } }).job);
  host.answers["cron.webhook"] = ({ rotate }) => ({
    url: "http://127.0.0.1:7717/hooks/jobs/job-1",
    secret: rotate === true ? "s3cret" : null,
    madeAtMs: noon,
    signingSecret: null,
    problem: null,
  });
  const { user } = renderApp("/jobs/job-1", host);
  await user.click(await screen.findByRole("button", { name: "Show URL and secret" }));
  expect(await screen.findByRole("region", { name: "URL" })).toHaveTextContent(
    "http://127.0.0.1:7717/hooks/jobs/job-1",
  );
  expect(screen.queryByRole("region", { name: "Secret" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Create new secret" }));
  expect(await screen.findByRole("region", { name: "Secret" })).toHaveTextContent("s3cret");
  expect(screen.getByRole("region", { name: "Command" })).toHaveTextContent("Authorization: Bearer s3cret");
  await user.click(screen.getByRole("button", { name: "Copy command" }));
  expect(host.copyText).toHaveBeenCalledWith(expect.stringContaining("curl -X POST"));
});

test("webhook shows its one-time signing key", async () => {
  const host = hostWith(aJob({ schedule: { kind: "webhook" } }).job);
  host.answers["cron.webhook"] = ({ rotate }) => ({
    url: "http://127.0.0.1:7717/hooks/jobs/job-1",
    secret: rotate === true ? "whsec_new" : null,
    madeAtMs: noon,
    signingSecret: "webhook-00ff",
    problem: "the system's keyring is switched off",
  });
  const { user } = renderApp("/jobs/job-1", host);
  await user.click(await screen.findByRole("button", { name: "Show signing key" }));
  expect(await screen.findByText(/lists the key as webhook-00ff/)).toBeInTheDocument();
  expect(screen.getByText(/keyring is switched off/)).toBeInTheDocument();
  expect(screen.queryByRole("region", { name: "Signing key" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Create new signing key" }));
  expect(await screen.findByRole("region", { name: "Signing key" })).toHaveTextContent("whsec_new");
  expect(screen.getByRole("button", { name: "Show URL and secret" })).toBeInTheDocument();
  expect(host.called("cron.webhook")).toEqual([
    { id: "job-1", rotate: false, sign: true },
    { id: "job-1", rotate: true, sign: true },
  ]);
});

test("new webhook must be saved first", async () => {
  const { user } = renderApp("/jobs/new", hostWith());
  await name();
  await user.click(screen.getByRole("radio", { name: "Webhook" }));
  expect(screen.getByText(/Save the job to get its URL and secret/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Show URL and secret" })).not.toBeInTheDocument();
});

test("permissions fold with a summary and save as policies", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look" } }).job);
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const fold = screen.getByRole("button", { name: /^Permissions asks for approval · any public host$/ });
  await user.click(fold);
  await write(user, await screen.findByRole("textbox", { name: "Hosts" }), "example.com");
  await user.click(screen.getByRole("button", { name: /Approvals/ }));
  await user.click(await screen.findByRole("option", { name: "Deny" }));
  expect(screen.queryByRole("textbox", { name: "Approval timeout" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("switch", { name: "Run commands outside the sandbox" }));
  expect(screen.getByText(/run with your full permissions/)).toBeInTheDocument();
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")[0]).toMatchObject({
      patch: { policies: { approvals: "deny", hosts: ["example.com"], sandbox: "open" } },
    }),
  );
});

test("tool call explains approvals required by a hook", async () => {
  const host = hostWith(
    aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" } } }).job,
  );
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  await user.click(screen.getByRole("button", { name: /^Permissions any public host$/ }));
  await user.click(await screen.findByRole("button", { name: /Approvals/ }));
  expect(screen.queryByRole("option", { name: "Hide tools that need approval" })).not.toBeInTheDocument();
  await user.click(await screen.findByRole("option", { name: "Deny" }));
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { approvals: "deny" } } }),
  );
});

test("budget, fallbacks and monthly cost are saved and shown", async () => {
  const host = hostWith(
    aJob({ payload: { kind: "agentTurn", message: "Look" }, policies: { budget: { tokensPerRun: 5_000 } } }).job,
  );
  const { job } = aJob({
    payload: { kind: "agentTurn", message: "Look" },
    policies: { budget: { tokensPerRun: 5_000 } },
  });
  host.answers["cron.get"] = () =>
    aJob(job, { spentThisMonth: { tokens: 30_500, costMicroUsd: 1_200_000, unpricedTokens: 0 } });
  host.answers["cron.estimate"] = () => ({
    text: "About 1.26 USD per month: 30 runs at about 0.04 USD, based on the last 3 runs.",
    basedOnRuns: 3,
    runsPerMonth: 30,
    tokensPerRun: 1_200,
    costPerRunMicroUsd: 42_000,
    tokensPerMonth: 36_000,
    costPerMonthMicroUsd: 1_260_000,
  });
  host.answers["cron.update"] = () => aJob(job);
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const panel = screen.getByRole("complementary", { name: "Job preview" });
  expect(await within(panel).findByText(/About 1\.26 USD per month/)).toBeInTheDocument();
  expect(within(panel).getByText("This month: $1.20, 30.5k tokens.")).toBeInTheDocument();
  expect(host.called("cron.estimate")).toContainEqual({ schedule: job.schedule, id: "job-1" });
  await user.click(screen.getByRole("button", { name: "Budget 5,000 tokens per run" }));
  await write(user, screen.getByRole("textbox", { name: "USD per day" }), "1.5");
  await user.tab();
  expect(await screen.findByText(/Models without a known price won’t be used/)).toBeInTheDocument();
  await write(user, screen.getByRole("textbox", { name: "Fallback models" }), "gpt-5.6-luna, ollama:llama3.2");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({
    patch: { policies: { budget: { usdPerDay: 1.5 } }, payload: { fallbacks: ["gpt-5.6-luna", "ollama:llama3.2"] } },
  });
});

test("clock change note shows beside the schedule", async () => {
  const host = hostWith();
  const note = "On 28 Mar 2027 the clock goes forward from 02:00 to 03:00";
  host.answers["cron.preview"] = () => ({ ...preview, notes: [note] });
  renderApp("/jobs/job-1", host);
  expect(await screen.findByText(note)).toBeInTheDocument();
});

test("warning shows at its field and does not prevent saving", async () => {
  const host = hostWith(
    aJob({
      payload: {
        kind: "agentTurn",
        message: "Look",
        model: "ollama:big",
        contextPaths: ["notes.md", "b c.md"],
        tools: ["http"],
      },
    }).job,
  );
  host.answers["system.status"] = () => aStatus({ model: "small · ollama" });
  host.answers["cron.check"] = ({ job }) => ({
    warnings:
      job.payload.kind === "agentTurn" && job.payload.model === "ollama:big"
        ? [
            { field: "payload.model", message: "`ollama:big` is not running." },
            { field: "payload.tools[0]", message: "There is no tool `http` here." },
            { field: "payload.contextPaths[0]", message: "`notes.md` is not in the workspace." },
            { field: "payload.contextPaths[1]", message: "`b c.md` is no file." },
          ]
        : [],
  });
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const model = screen.getByRole("textbox", { name: "Model" });
  await waitFor(() => expect(model).toHaveAccessibleDescription(/ollama:big is not running\./));
  expect(model).not.toBeInvalid();
  expect(
    screen.getByText(
      (_, node) => node?.tagName === "SPAN" && node.textContent.trim() === "There is no tool http here.",
    ),
  ).toBeInTheDocument();
  expect(screen.getByRole("textbox", { name: "Context files" })).toHaveAccessibleDescription(
    /notes.md is not in the workspace\. b c.md is no file\.$/,
  );
  await user.clear(model);
  await write(user, model, "small");
  await waitFor(() => expect(model).toHaveAccessibleDescription("[default: the model in Settings]"), {
    timeout: 3_000,
  });
  expect(screen.queryByText(/^You can save this job, but/)).not.toBeInTheDocument();
  expect(host.called("cron.check").at(-1)).toMatchObject({
    job: { id: "job-1", payload: { model: "small", contextPaths: ["notes.md", "b c.md"] } },
  });
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
});

test("warnings of call, time and zone show at their fields", async () => {
  const at = hostWith({ ...aJob().job, schedule: { kind: "at", atMs: noon, tz: "Europe/Berlin" } } as unknown as Job);
  at.answers["cron.check"] = () => ({
    warnings: [
      { field: "payload.arguments", message: "There is no secret `github`." },
      { field: "schedule.atMs", message: "That time has passed." },
      { field: "schedule.tz", message: "That zone is not known here." },
    ],
  });
  renderApp("/jobs/job-1", at);
  const time = await screen.findByRole("group", { name: "Date and time" });
  await waitFor(() =>
    expect(within(time.parentElement as HTMLElement).getByText("That time has passed.")).toBeInTheDocument(),
  );
  expect(screen.getByRole("combobox", { name: "Time zone" })).toHaveAccessibleDescription(
    /That zone is not known here\./,
  );
  expect(within(screen.getByRole("group", { name: "Arguments" })).getByText("github")).toBeInTheDocument();
  expect(screen.queryByText(/^You can save this job, but/)).not.toBeInTheDocument();
});

test("warning of an advanced field expands it", async () => {
  const host = hostWith({ ...aJob().job, policies: { maxConcurrent: 3, misfire: { limit: 4 } } });
  host.answers["cron.check"] = () => ({
    warnings: [
      { field: "policies.maxConcurrent", message: "No effect with that." },
      { field: "policies.misfire.limit", message: "No effect either." },
    ],
  });
  renderApp("/jobs/job-1", host);
  await name();
  const most = await screen.findByRole("textbox", { name: "Concurrent runs" });
  await waitFor(() => expect(most).toHaveAccessibleDescription(/No effect with that\.$/));
  expect(screen.getByRole("textbox", { name: "Catch-up limit" })).toHaveAccessibleDescription(/No effect either\.$/);
});

test("context files and max tokens save and show errors", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look", contextPaths: ["a.md"] } }).job);
  const update = host.answers["cron.update"];
  host.answers["cron.update"] = () => {
    throw new RpcError(errorCode.invalidParams, "no", {
      fields: [
        { path: "payload.maxTokens", message: "must be between 1 and 1000000, found 0" },
        { path: "payload.contextPaths[1]", message: "must be text" },
      ],
    });
  };
  const { user } = renderApp("/jobs/job-1", host);
  const files = await screen.findByRole("textbox", { name: "Context files" });
  const most = screen.getByRole("textbox", { name: "Max answer tokens" });
  expect(files).toHaveValue("a.md");
  await user.type(files, "{Enter}my notes.md");
  await write(user, most, "2000");
  await user.click(save());
  await waitFor(() => expect(most).toHaveAccessibleDescription("This must be between 1 and 1000000, found 0."));
  expect(files).toHaveAccessibleDescription("This must be text.");
  host.answers["cron.update"] = update;
  await user.click(save());
  await waitFor(() =>
    expect(host.called("cron.update").at(-1)).toMatchObject({
      patch: { payload: { contextPaths: ["a.md", "my notes.md"], maxTokens: 2_000 } },
    }),
  );
});
