import { screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { localZone } from "@/format/time";
import { wallOf } from "@/format/wall";
import { errorCode, type Job, RpcError, type Schedule } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anIncident, aStatus, aTool, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const http = aTool({ description: "Fetches a URL." });
const preview = { text: "Weekdays at 09:00", zone: "UTC", localZone: "UTC", notes: [], next: [{ atMs: noon, jobTime: "2026-11-21T10:00+00:00", localTime: "2026-11-21T10:00+00:00", note: "The clock goes back." }] };

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
    "tools.catalog": () => ({ tools: [http] }),
  });
}

type User = ReturnType<typeof renderApp>["user"];

/** All at once, as a person pastes; the keys themselves are the fields' business. */
async function write(user: User, field: HTMLElement, text: string) {
  await user.click(field);
  await user.paste(text);
}

const save = () => screen.getByRole("button", { name: "Save" });
const name = () => screen.findByRole("textbox", { name: "Name" });

test("a reminder is made from three answers, and leads to its page", async () => {
  const host = hostWith();
  const { user, path } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "Stand up.");
  await user.click(save());
  await waitFor(() => expect(path()).toBe("/jobs/job-new"));
  expect(host.called("cron.add")[0]).toMatchObject({
    name: "Stretch", sessionTarget: "main", payload: { kind: "systemEvent", text: "Stand up." }, schedule: { kind: "cron", expr: "0 9 * * 1-5" },
  });
});

test("the panel says what the engine would do, with its clock notes, and what it costs", async () => {
  renderApp("/jobs/new", hostWith());
  const panel = await screen.findByRole("complementary", { name: "What this job will do" });
  expect(await within(panel).findByText("Weekdays at 09:00.")).toBeInTheDocument();
  expect(within(panel).getByText("The clock goes back.")).toBeInTheDocument();
  expect(await within(panel).findByText("No model: costs nothing.")).toBeInTheDocument();
});

test("the panel asks about the schedule as saving would leave it", async () => {
  const job = aJob({ id: "job-7", schedule: { kind: "every", everyMs: 3_600_000, anchorMs: 7, jitterMs: 500 } }).job;
  const host = hostWith(job);
  renderApp("/jobs/job-7", host);
  await waitFor(() => expect(host.called("cron.preview")).toContainEqual({ schedule: job.schedule, id: "job-7", count: 5 }));
});

test("what is left open says what the engine does then", async () => {
  const imported = aJob({
    id: "job-7", payload: { kind: "agentTurn", message: "Look", timeoutSeconds: 90 },
    policies: { overlap: "parallel", misfire: { mode: "runAll" } },
  }).job;
  const { user } = renderApp("/jobs/job-7", hostWith(imported));
  const says = (name: string, words: string) => expect(screen.getByRole("textbox", { name: new RegExp(name) })).toHaveAttribute("placeholder", words);
  await name();
  await user.click(screen.getByRole("button", { name: /Advanced/ }));
  says("Stop a run after", "1.5");
  says("Runs at the same time", "2");
  says("Most missed times", "10");
  says("At most this late", "Any");
  expect(screen.getByRole("textbox", { name: /^At most this late/ })).toHaveAccessibleDescription("A later one counts as missed.");
});

test("where one run makes up for all, the newest of the missed times is the one that can be too late", async () => {
  const { user } = renderApp("/jobs/job-1", hostWith());
  await name();
  await user.click(screen.getByRole("button", { name: /Advanced/ }));
  expect(screen.getByRole("textbox", { name: /^At most this late/ })).toHaveAccessibleDescription("If even the newest missed time is later, none is made up for.");
});

test("a limit on lateness is seen where it is in force, also for times that are left out", async () => {
  const job = aJob({ id: "job-7", policies: { misfire: { mode: "skip", maxLatenessSeconds: 30 } } }).job;
  const host = hostWith(job);
  const { user } = renderApp("/jobs/job-7", host);
  await name();
  const late = screen.getByRole("textbox", { name: /At most this late/ });
  expect(late).toHaveValue("30");
  await user.clear(late);
  await user.tab();
  expect(late).toHaveAttribute("placeholder", "60");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-7", expectedRevision: 1, patch: { policies: { misfire: { maxLatenessSeconds: null } } } }]));
});

test("quiet hours of a job show their nights and their zone, and both can be changed", async () => {
  const job = aJob({ id: "job-7", policies: { quietHours: { from: "21:00", to: "06:30", tz: "Asia/Tokyo", days: ["fri"] } } }).job;
  const host = hostWith(job);
  const { user } = renderApp("/jobs/job-7", host);
  await name();
  await waitFor(() => expect(screen.getByRole("combobox", { name: /Zone of the quiet hours/ })).toHaveValue("Asia/Tokyo"));
  const nights = within(screen.getByRole("toolbar", { name: "Quiet nights" }));
  expect(nights.getAllByRole("button", { pressed: true }).map((night) => night.textContent)).toEqual(["Fri"]);
  await user.click(nights.getByRole("button", { name: "Sat" }));
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-7", expectedRevision: 1, patch: { policies: { quietHours: { days: ["fri", "sat"] } } } }]));
});

test("only sources that there are can be chosen; an imported one is shown as what it is", async () => {
  const imported = aJob({ id: "job-7", enabled: false, schedule: { kind: "event", source: "github" } }).job;
  const { user } = renderApp("/jobs/job-7", hostWith(imported));
  await name();
  const source = screen.getByRole("button", { name: /What happens/ });
  expect(source).toHaveTextContent("github");
  expect(screen.getByText(/No event ever comes from “github” here/)).toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "Source" })).not.toBeInTheDocument();
  await user.click(source);
  await user.click(await screen.findByRole("option", { name: "Rouse is woken with a line" }));
  expect(screen.queryByText(/No event ever comes from/)).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /What happens/ }));
  expect((await screen.findAllByRole("option")).map((option) => option.textContent)).toEqual([
    "Another job ends", "Rouse is woken with a line", "A job queues a line for main", "A webhook is called",
  ]);
});

test("a job that waits for one that is gone says so on its page", async () => {
  const after = aJob({ id: "job-7", schedule: { kind: "event", source: "job", filters: { jobId: "z" } } }, { predecessorIsGone: true });
  const host = hostWith(after.job);
  host.answers["cron.get"] = () => after;
  renderApp("/jobs/job-7", host);
  expect(await screen.findByText(/The job that this one waits for is gone/)).toBeInTheDocument();
  await waitFor(() => expect(screen.getByRole("combobox", { name: /After/ })).toHaveValue("A job that is gone"));
});

test("days write the pattern, and the pattern sets the days", async () => {
  const { user } = renderApp("/jobs/new", hostWith());
  const pattern = await screen.findByRole("textbox", { name: /cron pattern/ });
  const days = within(screen.getByRole("toolbar", { name: "Days of the week" }));
  await user.click(days.getByRole("button", { name: "Sat" }));
  expect(pattern).toHaveValue("0 9 * * 1-6");
  await user.clear(pattern);
  await write(user, pattern, "15 8 * * 0");
  expect(days.getAllByRole("button", { pressed: true }).map((day) => day.textContent)).toEqual(["Sun"]);
  await user.clear(pattern);
  await write(user, pattern, "*/5 * * * *");
  expect(screen.getByText(/says more than days and times can show/)).toBeInTheDocument();
});

test("the engine's complaints stand at their fields, others above the form", async () => {
  const host = hostWith();
  host.answers["cron.add"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "no", {
    fields: [{ path: "payload.text", message: "is required" }, { path: "isolation.postToMainPrefix", message: "expected a text" }],
  }));
  const { user } = renderApp("/jobs/new", host);
  await write(user, await name(), "Stretch");
  const text = screen.getByRole("textbox", { name: "What to say" });
  await write(user, text, "Stand up.");
  await user.click(save());
  await waitFor(() => expect(text).toBeInvalid());
  expect(text).toHaveAccessibleDescription("This is required.");
  expect(screen.getByText("isolation.postToMainPrefix")).toBeInTheDocument();
  await waitFor(() => expect(text).toHaveFocus());
});

test("everything that is missing is said at once, and nothing is sent", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/new", host);
  const field = await name();
  await user.click(save());
  await waitFor(() => expect(field).toHaveAccessibleDescription("Give it a name."));
  expect(screen.getByRole("textbox", { name: "What to say" })).toHaveAccessibleDescription("Write what it is to say.");
  expect(host.called("cron.add")).toEqual([]);
});

test("a time that is soon takes one press", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: noon });
  onTestFinished(() => void vi.useRealTimers());
  const host = hostWith();
  const { user, path } = renderApp("/jobs/new", host);
  await write(user, await name(), "Tea");
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "It is ready.");
  await user.click(screen.getByRole("radio", { name: "Once" }));
  await user.click(screen.getByRole("button", { name: "In 20 minutes" }));
  await user.click(save());
  await waitFor(() => expect(path()).toBe("/jobs/job-new"));
  expect(host.called("cron.add")[0]).toMatchObject({ schedule: { kind: "at", at: wallOf(noon + 20 * 60_000, localZone()), tz: localZone() } });
});

test("a tool that asks for some calls stands once, with those that ask", async () => {
  const host = hostWith();
  const tools = [aTool({ approval: "never", destructive: true, openWorld: true })];
  host.answers["tools.effective"] = () => ({ tools, withheld: [], ceiling: null, problem: null });
  const { user } = renderApp("/jobs/new", host);
  await name();
  await user.click(screen.getByRole("radio", { name: "Ask the agent" }));
  const panel = screen.getByRole("complementary", { name: "What this job will do" });
  expect(await within(panel).findByText("http")).toBeInTheDocument();
  expect(within(panel).getByText("some calls")).toBeInTheDocument();
  expect(within(panel).getByText("Nothing.")).toBeInTheDocument();
});

test("a tool's arguments are a form, and what is missing is said before anything is sent", async () => {
  const host = hostWith(aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" } } }).job);
  const { user } = renderApp("/jobs/job-1", host);
  const url = await screen.findByRole("textbox", { name: "url" });
  await user.clear(url);
  await user.click(save());
  expect(await screen.findByText("This is required.")).toBeInTheDocument();
  expect(host.called("cron.update")).toEqual([]);
  await write(user, url, "https://b.example");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { payload: { arguments: { url: "https://b.example" } } }, expectedRevision: 1 }]));
  expect(await screen.findByText("Saved")).toBeInTheDocument();
  expect(save()).toBeDisabled();
});

test("a condition is tried on the last result before it is saved", async () => {
  const host = hostWith(aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" }, notifyWhen: { cel: "result.level < 20" } } }).job);
  host.answers["cron.tryCondition"] = ({ cel }) =>
    cel.endsWith("<")
      ? { problem: "at character 14: something is missing", holds: null, on: null }
      : { problem: null, holds: true, on: { runId: "run-1", atMs: noon, result: { level: 17 }, previous: null } };
  const { user } = renderApp("/jobs/job-1", host);
  const condition = await screen.findByRole("textbox", { name: "Condition" });
  expect(condition).toHaveValue("result.level < 20");
  const tryIt = screen.getByRole("button", { name: "Try on the last result" });
  await user.click(tryIt);
  expect(await screen.findByText("Yes: this would be told.")).toBeInTheDocument();
  expect(screen.getByRole("region", { name: "Last result" })).toHaveTextContent('"level": 17');
  await user.clear(condition);
  await write(user, condition, "result.level <");
  expect(screen.queryByText("Yes: this would be told."), "it was about other words").not.toBeInTheDocument();
  await user.click(tryIt);
  expect(await screen.findByText("At character 14: something is missing.")).toBeInTheDocument();
  expect(host.called("cron.tryCondition").at(-1)).toEqual({ id: "job-1", cel: "result.level <" });
  await user.clear(condition);
  await write(user, condition, "result.level < 10");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { payload: { notifyWhen: { cel: "result.level < 10" } } }, expectedRevision: 1 }]));
});

test("a paused job says why, and is resumed there", async () => {
  const job = aJob({ enabled: false }).job;
  const host = hostWith(job);
  host.answers["cron.get"] = () => aJob({ ...job }, { incident: anIncident({ pausedBecause: "Paused after 3 failures in a row" }) });
  const { user } = renderApp("/jobs/job-1", host);
  expect(await screen.findByText("Paused after 3 failures in a row: no network")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Resume" }));
  await waitFor(() => expect(host.called("cron.update")).toEqual([expect.objectContaining({ id: "job-1", patch: { enabled: true } })]));
});

test("a job that changed elsewhere meanwhile is not overwritten; the new version can be shown", async () => {
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

test("a change elsewhere is taken over while nothing here was changed; a run is none", async () => {
  const host = hostWith();
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  host.answers["cron.get"] = () => aJob({ name: "Renamed", state: { revision: 2 } });
  host.emit("cron", { jobId: "job-1", action: "updated" });
  await waitFor(async () => expect(await name()).toHaveValue("Renamed"));
  await write(user, await name(), "!");
  host.answers["cron.get"] = () => aJob({ name: "Renamed", enabled: false, state: { revision: 3, lastState: "failed" } });
  host.emit("cron", { jobId: "job-1", action: "finished" });
  await waitFor(() => expect(screen.getByRole("switch", { name: "Active" })).not.toBeChecked());
  expect(screen.queryByText(/changed elsewhere/)).not.toBeInTheDocument();
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "job-1", patch: { name: "Renamed!" }, expectedRevision: 3 }]));
});

test("leaving with changes asks first, leaving without does not", async () => {
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

test("a copy begins with everything the job has", async () => {
  const host = hostWith({ ...aJob().job, "x-mine": 1 } as unknown as Job);
  const { user } = renderApp("/jobs/new?from=job-1", host);
  expect(await name()).toHaveValue("Backup copy");
  host.answers["tools.catalog"] = () => ({ tools: [] });
  await user.click(await screen.findByRole("radio", { name: "Remind me" }));
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "x");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")[0]).toMatchObject({ name: "Backup copy", "x-mine": 1, payload: { kind: "systemEvent", text: "x" }, sessionTarget: "main" }));
  expect(host.called("cron.add")[0]).not.toHaveProperty("id");
});

test("a job that is gone says so", async () => {
  renderApp("/jobs/nope", fakeHost());
  expect(await screen.findByText("There is no such job")).toBeInTheDocument();
});

test("a job comes after another one, and the engine's word about a pattern stands at its field", async () => {
  const host = hostWith();
  host.answers["cron.list"] = () => ({ jobs: [aJob({ id: "job-7", name: "Backup" })], broken: [], nextCursor: null });
  host.answers["cron.preview"] = ({ schedule }) =>
    "pattern" in schedule ? Promise.reject(new RpcError(errorCode.invalidParams, "no", { fields: [{ path: "schedule.pattern", message: "is no regular expression: unclosed group" }] })) : preview;
  const { user } = renderApp("/jobs/new", host);
  await write(user, await name(), "Check");
  await write(user, screen.getByRole("textbox", { name: "What to say" }), "Look.");
  await user.click(screen.getByRole("radio", { name: "Event" }));
  await user.click(screen.getByRole("combobox", { name: "After" }));
  await user.click(await screen.findByRole("option", { name: "Backup" }));
  const pattern = screen.getByRole("textbox", { name: "Its text matches" });
  await write(user, pattern, "(");
  await waitFor(() => expect(pattern).toHaveAccessibleDescription("This is no regular expression: unclosed group."));
  await user.clear(pattern);
  await user.click(save());
  await waitFor(() => expect(host.called("cron.add")).toHaveLength(1));
  expect(host.called("cron.add")[0]).toMatchObject({ schedule: { kind: "event", source: "job", filters: { jobId: "job-7", status: "ok" } } });
});

test("a webhook shows its address, its secret once and the line that calls it", async () => {
  const host = hostWith(aJob({ schedule: { kind: "webhook" } }).job);
  host.answers["cron.webhook"] = ({ rotate }) => ({ url: "http://127.0.0.1:7717/hooks/jobs/job-1", secret: rotate === true ? "s3cret" : null, madeAtMs: noon });
  const { user } = renderApp("/jobs/job-1", host);
  await user.click(await screen.findByRole("button", { name: "Show address and secret" }));
  expect(await screen.findByRole("region", { name: "Address" })).toHaveTextContent("http://127.0.0.1:7717/hooks/jobs/job-1");
  expect(screen.queryByRole("region", { name: "Secret" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Make a new secret" }));
  expect(await screen.findByRole("region", { name: "Secret" })).toHaveTextContent("s3cret");
  expect(screen.getByRole("region", { name: "Command" })).toHaveTextContent("Authorization: Bearer s3cret");
  await user.click(screen.getByRole("button", { name: "Copy command" }));
  expect(host.copyText).toHaveBeenCalledWith(expect.stringContaining("curl -X POST"));
});

test("a new webhook is saved first", async () => {
  const { user } = renderApp("/jobs/new", hostWith());
  await name();
  await user.click(screen.getByRole("radio", { name: "Webhook" }));
  expect(screen.getByText(/Save the job first/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Show address and secret" })).not.toBeInTheDocument();
});

test("what a job may do is folded with its summary, and saved as policies", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look" } }).job);
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const fold = screen.getByRole("button", { name: /^What it may do asks you · any public address$/ });
  await user.click(fold);
  await write(user, await screen.findByRole("textbox", { name: "Hosts it may reach" }), "example.com");
  await user.click(screen.getByRole("button", { name: /When something needs your yes/ }));
  await user.click(await screen.findByRole("option", { name: "Answer no at once" }));
  expect(screen.queryByRole("textbox", { name: "A question waits" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("switch", { name: "Let its commands leave the sandbox" }));
  expect(screen.getByText(/run with all your rights/)).toBeInTheDocument();
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { approvals: "deny", hosts: ["example.com"], sandbox: "open" } } }));
});

test("a job without a model says what happens when a hook wants its call asked", async () => {
  const host = hostWith(aJob({ payload: { kind: "toolCall", tool: "http", arguments: { url: "https://a.example" } } }).job);
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  await user.click(screen.getByRole("button", { name: /^What it may do any public address$/ }));
  await user.click(await screen.findByRole("button", { name: /When a hook wants your yes/ }));
  expect(screen.queryByRole("option", { name: "Do not offer such tools" })).not.toBeInTheDocument();
  await user.click(await screen.findByRole("option", { name: "Answer no at once" }));
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")[0]).toMatchObject({ patch: { policies: { approvals: "deny" } } }));
});

test("what a job may spend, its fallbacks and what a month of it costs", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look" }, policies: { budget: { tokensPerRun: 5_000 } } }).job);
  const { job } = aJob({ payload: { kind: "agentTurn", message: "Look" }, policies: { budget: { tokensPerRun: 5_000 } } });
  host.answers["cron.get"] = () => aJob(job, { spentThisMonth: { tokens: 30_500, costMicroUsd: 1_200_000, unpricedTokens: 0 } });
  host.answers["cron.estimate"] = () => ({ text: "About 1.26 USD a month: 30 runs at about 0.04 USD, by its last 3 runs.", basedOnRuns: 3, runsPerMonth: 30, tokensPerRun: 1_200, costPerRunMicroUsd: 42_000, tokensPerMonth: 36_000, costPerMonthMicroUsd: 1_260_000 });
  host.answers["cron.update"] = () => aJob(job);
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const panel = screen.getByRole("complementary", { name: "What this job will do" });
  expect(await within(panel).findByText(/About 1\.26 USD a month/)).toBeInTheDocument();
  expect(within(panel).getByText("This month so far: $1.20, 30.5k tokens.")).toBeInTheDocument();
  expect(host.called("cron.estimate")).toContainEqual({ schedule: job.schedule, id: "job-1" });
  await user.click(screen.getByRole("button", { name: "What it may spend at most 5,000 tokens a run" }));
  await write(user, screen.getByRole("textbox", { name: "Most dollars of a day" }), "1.5");
  await user.tab();
  expect(await screen.findByText(/A model whose price is not known is not asked then/)).toBeInTheDocument();
  await write(user, screen.getByRole("textbox", { name: "If that model does not answer" }), "gpt-5.6-luna, ollama:llama3.2");
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(host.called("cron.update")[0]).toMatchObject({
    patch: { policies: { budget: { usdPerDay: 1.5 } }, payload: { fallbacks: ["gpt-5.6-luna", "ollama:llama3.2"] } },
  });
});

test("what a change of the clock does to a job is said beside it", async () => {
  const host = hostWith();
  const note = "On 28 Mar 2027 the clock goes forward from 02:00 to 03:00";
  host.answers["cron.preview"] = () => ({ ...preview, notes: [note] });
  renderApp("/jobs/job-1", host);
  expect(await screen.findByText(note)).toBeInTheDocument();
});

test("what will go wrong as things stand is said at its field before it is saved, and keeps nobody from saving", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look", model: "ollama:big", contextPaths: ["notes.md", "b c.md"], tools: ["http"] } }).job);
  host.answers["system.status"] = () => aStatus({ model: "small · ollama" });
  host.answers["cron.check"] = ({ job }) => ({
    warnings: job.payload.kind === "agentTurn" && job.payload.model === "ollama:big"
      ? [{ field: "payload.model", message: "`ollama:big` is not running." }, { field: "payload.tools[0]", message: "There is no tool `http` here." }, { field: "payload.contextPaths[0]", message: "`notes.md` is not in the workspace." }, { field: "payload.contextPaths[1]", message: "`b c.md` is no file." }]
      : [],
  });
  const { user } = renderApp("/jobs/job-1", host);
  await name();
  const model = screen.getByRole("textbox", { name: "Model" });
  await waitFor(() => expect(model).toHaveAccessibleDescription(/ollama:big is not running\./));
  expect(model).not.toBeInvalid();
  expect(screen.getByText((_, node) => node?.tagName === "SPAN" && node.textContent.trim() === "There is no tool http here.")).toBeInTheDocument();
  expect(screen.getByRole("textbox", { name: "Files it is given" })).toHaveAccessibleDescription(/notes.md is not in the workspace\. b c.md is no file\.$/);
  await user.clear(model);
  await write(user, model, "small");
  await waitFor(() => expect(model).toHaveAccessibleDescription("Empty: the one in the settings."), { timeout: 3_000 });
  expect(screen.queryByText(/^It can be saved, but/)).not.toBeInTheDocument();
  expect(host.called("cron.check").at(-1)).toMatchObject({ job: { id: "job-1", payload: { model: "small", contextPaths: ["notes.md", "b c.md"] } } });
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
});

test("a warning about a call, about a time and about a zone stands at its field", async () => {
  const at = hostWith({ ...aJob().job, schedule: { kind: "at", atMs: noon, tz: "Europe/Berlin" } } as unknown as Job);
  at.answers["cron.check"] = () => ({
    warnings: [
      { field: "payload.arguments", message: "There is no secret `github`." },
      { field: "schedule.atMs", message: "That time has passed." },
      { field: "schedule.tz", message: "That zone is not known here." },
    ],
  });
  renderApp("/jobs/job-1", at);
  const time = await screen.findByRole("group", { name: "Day and time" });
  await waitFor(() => expect(within(time.parentElement as HTMLElement).getByText("That time has passed.")).toBeInTheDocument());
  expect(screen.getByRole("combobox", { name: "Time zone" })).toHaveAccessibleDescription(/That zone is not known here\./);
  expect(within(screen.getByRole("group", { name: "Arguments" })).getByText("github")).toBeInTheDocument();
  expect(screen.queryByText(/^It can be saved, but/)).not.toBeInTheDocument();
});

test("a warning about a setting without effect unfolds it and stands at it", async () => {
  const host = hostWith({ ...aJob().job, policies: { maxConcurrent: 3, misfire: { limit: 4 } } });
  host.answers["cron.check"] = () => ({
    warnings: [
      { field: "policies.maxConcurrent", message: "This does nothing beside that." },
      { field: "policies.misfire.limit", message: "This does nothing either." },
    ],
  });
  renderApp("/jobs/job-1", host);
  const most = await screen.findByRole("textbox", { name: "Runs at the same time" }, { timeout: 3_000 });
  await waitFor(() => expect(most).toHaveAccessibleDescription(/This does nothing beside that\.$/));
  expect(screen.getByRole("textbox", { name: "Most missed times" })).toHaveAccessibleDescription(/This does nothing either\.$/);
});

test("files and the longest answer of an agent’s job are changed in the form, and complaints stand beside them", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look", contextPaths: ["a.md"] } }).job);
  const update = host.answers["cron.update"];
  host.answers["cron.update"] = () => {
    throw new RpcError(errorCode.invalidParams, "no", { fields: [{ path: "payload.maxTokens", message: "must be between 1 and 1000000, found 0" }, { path: "payload.contextPaths[1]", message: "must be text" }] });
  };
  const { user } = renderApp("/jobs/job-1", host);
  const files = await screen.findByRole("textbox", { name: "Files it is given" });
  const most = screen.getByRole("textbox", { name: "Most tokens of an answer" });
  expect(files).toHaveValue("a.md");
  await user.type(files, "{Enter}my notes.md");
  await write(user, most, "2000");
  await user.click(save());
  await waitFor(() => expect(most).toHaveAccessibleDescription("This must be between 1 and 1000000, found 0."));
  expect(files).toHaveAccessibleDescription("This must be text.");
  host.answers["cron.update"] = update;
  await user.click(save());
  await waitFor(() => expect(host.called("cron.update").at(-1)).toMatchObject({ patch: { payload: { contextPaths: ["a.md", "my notes.md"], maxTokens: 2_000 } } }));
});
