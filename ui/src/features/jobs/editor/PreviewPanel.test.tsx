import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, type Job, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview, aRun, aStatus, aTool, noon } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const preview = aPreview({ text: "Weekdays at 09:00" });

function hostWith(job: Job) {
  return fakeHost({ "cron.get": () => aJob(job), "cron.preview": () => preview });
}

test("slot times are shown as the engine wrote them", async () => {
  const host = hostWith(aJob().job);
  // Offsets that no zone has.
  const slot = { atMs: noon, jobTime: "2026-11-21T12:34:00+00:34", localTime: "2026-11-20T23:56:07-12:04", note: null };
  host.answers["cron.preview"] = () => ({ ...preview, zone: "Europe/Berlin", localZone: "Africa/Accra", next: [slot] });
  renderApp("/jobs/job-1", host);
  const panel = await screen.findByRole("complementary", { name: "Job preview" });
  const time = await within(panel).findByText(/21.*12:34/);
  expect(time).toHaveAttribute("title", expect.stringMatching(/2026.*12:34:00.*UTC\+00:34/));
  expect(within(panel).getByText(/20.*23:56.* in Accra/)).toBeInTheDocument();
});

test("named_host_and_folder_are_offered_and_allowed_once", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Compare example.com with ~/Notes" } }).job);
  host.answers["cron.check"] = ({ job }) => ({
    warnings: [],
    offers:
      job.policies?.hosts === undefined ? { hosts: ["example.com"], folders: ["~/Notes"] } : { hosts: [], folders: [] },
  });
  host.answers["cron.update"] = () => ({ ...aJob(), warnings: [] });
  const { user } = renderApp("/jobs/job-1", host);
  const panel = await screen.findByRole("complementary", { name: "Job preview" });
  expect(await within(panel).findByText("This job mentions example.com, ~/Notes. Allow access?")).toBeInTheDocument();
  await user.click(within(panel).getByRole("button", { name: "Allow" }));
  await waitFor(() => expect(within(panel).queryByRole("button", { name: "Allow" })).toBeNull());
  expect(within(panel).getByText("Granted: example.com, ~/Notes")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(host.called("cron.update")[0]).toMatchObject({
      patch: { policies: { hosts: ["example.com"], folders: ["~/Notes"] } },
    }),
  );
});

test("paused scheduler replaces countdowns", async () => {
  const host = hostWith(aJob().job);
  const atMs = Date.now() + 3_600_000;
  const slot = (inMs: number) => ({
    atMs: atMs + inMs,
    jobTime: "2026-11-21T12:34:00+00:00",
    localTime: "2026-11-21T12:34:00+00:00",
    note: null,
  });
  host.answers["cron.preview"] = () => ({ ...preview, next: [slot(0), slot(60_000)] });
  host.answers["system.status"] = () => aStatus({ cron: { pause: { untilMs: atMs + 1 } } });
  renderApp("/jobs/job-1", host);
  const panel = await screen.findByRole("complementary", { name: "Job preview" });
  await within(panel).findByText("skipped: paused");
  const [first, second] = within(panel).getAllByRole("listitem");
  expect(first).toHaveTextContent(/skipped: paused$/);
  expect(second).not.toHaveTextContent("skipped");
});

test("rejected time shows at its field", async () => {
  const host = hostWith(aJob({ id: "job-7", schedule: { kind: "at", atMs: noon, tz: "Europe/Berlin" } }).job);
  const gap = "2026-03-29 02:30 does not exist in Europe/Berlin: the clocks skip it";
  host.answers["cron.preview"] = ({ schedule }) =>
    "at" in schedule
      ? Promise.reject(new RpcError(errorCode.invalidParams, gap, { fields: [{ path: "schedule.at", message: gap }] }))
      : preview;
  const { user } = renderApp("/jobs/job-7", host);
  await user.click(await screen.findByRole("button", { name: "Tomorrow at 09:00" }));
  expect(await screen.findAllByText(`${gap}.`)).not.toHaveLength(0);
  expect(screen.getByRole("group", { name: "Date and time" })).toHaveAccessibleDescription(
    expect.stringContaining(gap) as string,
  );
});

test("expired one-time job shows its outcome until rescheduled", async () => {
  const passed = "has passed: choose a time in the future";
  const atMs = Date.UTC(2020, 0, 5, 10);
  const host = hostWith(aJob({ schedule: { kind: "at", atMs, tz: "UTC" }, state: { lastState: "succeeded" } }).job);
  host.answers["cron.preview"] = ({ schedule }) =>
    "atMs" in schedule && schedule.atMs === atMs
      ? Promise.reject(
          new RpcError(errorCode.invalidParams, passed, { fields: [{ path: "schedule.atMs", message: passed }] }),
        )
      : preview;
  host.answers["runs.list"] = () => ({ runs: [aRun({ slotAtMs: atMs })], nextCursor: null, total: 1 });
  host.answers["cron.check"] = () => ({
    warnings: [
      { field: "schedule.atMs", message: "This time has passed, so the job never fires." },
      { field: "kept.key", message: "Something else." },
    ],
  });
  const { user } = renderApp("/jobs/job-1", host);
  const panel = within(await screen.findByRole("complementary", { name: "Job preview" }));
  expect(await panel.findByText(/^Fired on .* 2020 at 10:00; succeeded\.$/)).toBeInTheDocument();
  expect(await screen.findByText("Something else.")).toBeInTheDocument();
  expect(screen.queryByText(/has passed/i)).not.toBeInTheDocument();

  await user.click(screen.getByRole("button", { name: "Tomorrow at 09:00" }));
  expect(await panel.findByText(/^Weekdays at 09:00/)).toBeInTheDocument();
  expect(panel.queryByText(/; succeeded/)).not.toBeInTheDocument();
});

test("permissions come from the engine for the draft", async () => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look" } }).job);
  const look = aTool({ name: "read_file", approval: "never" });
  const write = aTool({ name: "write_file", approval: "unlessGranted" });
  host.answers["tools.effective"] = () => ({ tools: [look, write], withheld: [], ceiling: null, problem: null });
  const { user } = renderApp("/jobs/job-1", host);
  const panel = within(await screen.findByRole("complementary", { name: "Job preview" }));
  expect(await panel.findByText("read_file")).toBeInTheDocument();
  expect(panel.getByText("Needs approval")).toBeInTheDocument();
  expect(host.called("tools.effective").at(-1)).toMatchObject({ job: { id: "job-1", payload: { kind: "agentTurn" } } });

  host.answers["tools.effective"] = () => ({
    tools: [look],
    withheld: [],
    ceiling: "This run may only look.",
    problem: null,
  });
  await user.click(screen.getByRole("radio", { name: "None" }));
  expect(await panel.findByText("This run may only look.")).toBeInTheDocument();
  expect(panel.queryByText("write_file")).not.toBeInTheDocument();

  host.answers["tools.effective"] = () => ({
    tools: [],
    withheld: [],
    ceiling: null,
    problem: "the skill fetch is not there.",
  });
  await user.click(screen.getByRole("radio", { name: "All tools" }));
  expect(await panel.findByText(/Runs cannot start: the skill fetch is not there/)).toBeInTheDocument();
});

test.each(["deny", "skip"] as const)("approvals %s do not list tools as asking", async (approvals) => {
  const host = hostWith(aJob({ payload: { kind: "agentTurn", message: "Look" }, policies: { approvals } }).job);
  host.answers["tools.effective"] = () => ({
    tools: [aTool({ approval: "never", destructive: true })],
    withheld: [],
    ceiling: null,
    problem: null,
  });
  renderApp("/jobs/job-1", host);
  const panel = within(await screen.findByRole("complementary", { name: "Job preview" }));
  expect(await panel.findByText("Needs a grant")).toBeInTheDocument();
  expect(panel.queryByText(/^Needs approval/)).not.toBeInTheDocument();
});

test.each([
  ["container", "Call run_command with exactly these arguments, with your full permissions, outside the sandbox."],
  ["inProcess", "Call run_command with exactly these arguments."],
] as const)("fixed call states its rights: %s", async (domain, words) => {
  const host = hostWith(
    aJob({ payload: { kind: "toolCall", tool: "run_command", arguments: { command: "true" } } }).job,
  );
  host.answers["tools.catalog"] = () => ({ tools: [aTool({ name: "run_command", domain })], refused: [] });
  renderApp("/jobs/job-1", host);
  const panel = within(await screen.findByRole("complementary", { name: "Job preview" }));
  const may = (await panel.findByRole("heading", { name: "Can do on its own" })).parentElement;
  await waitFor(() => expect(may).toHaveTextContent(words));
});

test("sentence ending with user text has one full stop", async () => {
  const host = hostWith(
    aJob({ payload: { kind: "systemEvent", text: "" }, schedule: { kind: "event", source: "wake", pattern: "Done." } })
      .job,
  );
  host.answers["cron.preview"] = () => ({ ...preview, text: "On a wake event whose text matches Done." });
  renderApp("/jobs/job-1", host);
  const panel = await screen.findByRole("complementary", { name: "Job preview" });
  expect(await within(panel).findByText("On a wake event whose text matches Done.")).toBeInTheDocument();
});
