import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { SavedJob, Schedule } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, anApproval, aPreview, aRun, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const backup = aJob(
  { id: "a", state: { lastState: "succeeded", nextRunAtMs: Date.now() + 7_200_000 } },
  { recent: ["succeeded", "failed"] },
);
const paused = aJob({ id: "b", name: "Invoices", enabled: false });

function hostWith(jobs: SavedJob[]) {
  const rows = [...jobs];
  return fakeHost({
    "cron.list": () => ({ jobs: [...rows], broken: [], nextCursor: null }),
    "cron.remove": ({ id }) => ({
      job:
        rows.splice(
          rows.findIndex(({ job }) => job.id === id),
          1,
        )[0]?.job ?? null,
      followers: rows
        .filter(({ job: { schedule } }) => schedule.kind === "event" && schedule.filters?.jobId === id)
        .map(({ job }) => ({ id: job.id, name: job.name })),
      cancelledRuns: 0,
      withdrawnApprovals: 0,
      callerContinues: false,
    }),
    "cron.add": (draft) => {
      const view = aJob({ ...draft, schedule: draft.schedule as Schedule, id: draft.id ?? "new" });
      rows.push(view);
      return view;
    },
    "cron.update": ({ id }) => rows.find(({ job }) => job.id === id)!,
    "cron.run": () => ({ runId: "r1" }),
  });
}

test("rows show schedule, next slot and recent runs", async () => {
  renderApp("/jobs", hostWith([backup, paused]));
  const row = (await screen.findByRole("link", { name: "Backup" })).closest("li")!;
  expect(within(row).getByText("in 2 h")).toBeInTheDocument();
  expect(within(row).getByRole("img", { name: "Last 2 runs: 1 succeeded, 1 failed" })).toBeInTheDocument();
});

test("reminder skipped in a pause shows so and is not active", async () => {
  const skipped = aJob(
    {
      id: "c",
      name: "Tea",
      schedule: { kind: "at", atMs: Date.now() - 60_000 },
      state: { lastState: "skipped", lastError: "Everything was paused" },
    },
    { scheduleText: "Once on 27 Nov at 12:00" },
  );
  renderApp("/jobs", hostWith([backup, skipped]));
  const row = (await screen.findByRole("link", { name: "Tea" })).closest("li")!;
  expect(within(row).getByText("Skipped")).toBeInTheDocument();
  expect(within(row).getByText("Once on 27 Nov at 12:00 · last: Everything was paused")).toBeInTheDocument();
  expect(within(row).getByTitle("Last run skipped: Everything was paused")).toBeInTheDocument();
  expect(within(row).queryByTitle("Healthy")).not.toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "Active 1" })).toBeInTheDocument();
});

test("future reminder without a next slot is not expired", async () => {
  const ahead = aJob({
    id: "c",
    name: "Tea",
    schedule: { kind: "at", atMs: Date.now() + 3_600_000 },
    state: { lastState: "succeeded" },
  });
  renderApp("/jobs", hostWith([backup, ahead]));
  const row = (await screen.findByRole("link", { name: "Tea" })).closest("li")!;
  expect(within(row).queryByText(/^(Done|Never)$/)).not.toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "Active 2" })).toBeInTheDocument();
});

test("paused scheduler replaces countdowns in rows", async () => {
  const host = hostWith([backup]);
  const { heartbeat } = aStatus();
  host.answers["system.status"] = () =>
    aStatus({ cron: { pause: { untilMs: null } }, heartbeat: { ...heartbeat, nextAtMs: Date.now() + 60_000 } });
  renderApp("/jobs", host);
  const row = (await screen.findByRole("link", { name: "Backup" })).closest("li")!;
  expect(await within(row).findByText("skipped: paused")).toBeInTheDocument();
  expect(within(row).queryByText("in 2 h")).not.toBeInTheDocument();
  expect(
    within(screen.getByRole("link", { name: "Heartbeat" }).parentElement!).getByText("skipped: paused"),
  ).toBeInTheDocument();
});

test("deleting a trigger job names its followers", async () => {
  const after = aJob({
    id: "c",
    name: "Copy away",
    schedule: { kind: "event", source: "job", filters: { jobId: "a" } },
  });
  const stranded = aJob(
    { id: "d", name: "Tidy", schedule: { kind: "event", source: "job", filters: { jobId: "z" } } },
    { isPredecessorMissing: true },
  );
  const { user } = renderApp("/jobs", hostWith([backup, after, stranded]));
  const row = (await screen.findByRole("link", { name: "Tidy" })).closest("li")!;
  expect(within(row).getAllByText("Its trigger job was deleted").length).toBeGreaterThan(0);
  expect(within(row).getByText("Never")).toBeInTheDocument();
  await user.click(
    within(screen.getByRole("link", { name: "Backup" }).closest("li")!).getByRole("button", {
      name: "More for Backup",
    }),
  );
  await user.click(await screen.findByRole("menuitem", { name: /Delete/ }));
  expect(await screen.findByText("“Copy away” was triggered by it and will not fire again.")).toBeInTheDocument();
});

test("pausing with an active run offers to stop it", async () => {
  const busy = aJob({ id: "a" }, { liveRunIds: ["r1", "r2"] });
  const host = hostWith([busy]);
  const atWork = aRun({ id: "r1", jobId: "a", state: "running", finishedAtMs: null });
  const waits = { ...atWork, id: "r2", nextAttemptAtMs: Date.now() + 600_000 };
  host.answers["runs.list"] = ({ states }) => ({
    runs: states?.includes("running") ? [atWork, waits] : [],
    nextCursor: null,
    total: 2,
  });
  host.answers["runs.cancel"] = () => ({ changed: true });
  const { user } = renderApp("/jobs", host);
  await user.click(
    within((await screen.findByRole("link", { name: "Backup" })).closest("li")!).getByRole("button", {
      name: "More for Backup",
    }),
  );
  await user.click(await screen.findByRole("menuitem", { name: /Pause/ }));
  expect(await screen.findByText("A run of “Backup” is still running")).toBeInTheDocument();
  expect(host.called("runs.list")).toContainEqual({ jobId: "a", states: ["running"] });
  await user.click(screen.getByRole("button", { name: "Stop the run" }));
  await waitFor(() => expect(host.called("runs.cancel")).toEqual([{ id: "r1" }]));
});

test("pausing without an active run shows no toast", async () => {
  const host = hostWith([aJob({ id: "a" }), aJob({ id: "b", name: "Retried" }, { liveRunIds: ["r2"] })]);
  const waits = aRun({
    id: "r2",
    jobId: "b",
    state: "running",
    finishedAtMs: null,
    nextAttemptAtMs: Date.now() + 600_000,
  });
  host.answers["runs.list"] = () => ({ runs: [waits], nextCursor: null, total: 1 });
  const { user } = renderApp("/jobs", host);
  for (const name of ["Backup", "Retried"]) {
    await user.click(
      within((await screen.findByRole("link", { name })).closest("li")!).getByRole("button", {
        name: `More for ${name}`,
      }),
    );
    await user.click(await screen.findByRole("menuitem", { name: /Pause/ }));
  }
  await waitFor(() => expect(host.called("runs.list")).toContainEqual({ jobId: "b", states: ["running"] }));
  expect(host.called("runs.list")).not.toContainEqual({ jobId: "a", states: ["running"] });
  expect(screen.queryByText(/still running/)).not.toBeInTheDocument();
});

test("ten thousand jobs render visible rows only and search fast", async () => {
  const many = Array.from({ length: 10_000 }, (_, i) => aJob({ id: `j${i}`, name: `Job ${i}` }));
  const { user } = renderApp("/jobs", hostWith(many));
  const list = await screen.findByRole("list", { name: "Jobs" });
  expect(within(list).getAllByRole("listitem").length).toBeLessThan(60);
  await user.type(screen.getByRole("searchbox", { name: "Search jobs" }), "job 9999");
  expect(await screen.findByText("1 job")).toBeInTheDocument();
});

test("first page shows at once and counts wait for all", async () => {
  const many = Array.from({ length: 1_200 }, (_, i) => aJob({ id: `j${i}`, name: `Job ${i}` }));
  let readOn = () => {};
  const later = new Promise<void>((resolve) => (readOn = resolve));
  const host = fakeHost({
    "cron.list": async ({ limit = 100, cursor }) => {
      const from = Number(cursor ?? 0);
      if (from > 0) await later;
      // The last job of the first page has moved to the second page.
      const rows = from === 500 ? many.slice(499, 1_000) : many.slice(from, from + limit);
      return { jobs: rows, broken: [], nextCursor: from + limit < many.length ? String(from + limit) : null };
    },
  });
  const { user } = renderApp("/jobs", host);
  expect(await screen.findByRole("link", { name: "Job 0" })).toBeInTheDocument();
  expect(screen.getByText("Loading more…")).toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "All" })).toBeInTheDocument();
  await user.type(screen.getByRole("searchbox", { name: "Search jobs" }), "job 1199");
  await waitFor(() => expect(screen.queryByRole("link", { name: "Job 0" })).not.toBeInTheDocument());
  expect(screen.queryByText("No matching jobs")).not.toBeInTheDocument();
  readOn();
  expect(await screen.findByRole("link", { name: "Job 1199" })).toBeInTheDocument();
  expect(screen.getByRole("radio", { name: "All 1,200" })).toBeInTheDocument();
});

test("filter appears in the address", async () => {
  const { user, path } = renderApp("/jobs", hostWith([backup, paused]));
  await user.click(await screen.findByRole("radio", { name: /Paused/ }));
  await waitFor(() => expect(screen.queryByRole("link", { name: "Backup" })).not.toBeInTheDocument());
  expect(path()).toBe("/jobs?filter=paused");
});

test("keys act on the row in focus: R runs, P pauses, E edits", async () => {
  const host = hostWith([backup, paused]);
  const { user, path } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("j");
  await user.keyboard("rp");
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "a", patch: { enabled: false } }]));
  expect(host.called("cron.run")).toEqual([{ id: "a", mode: "force" }]);
  await user.keyboard("e");
  await waitFor(() => expect(path()).toBe("/jobs/a"));
});

test("K on the first job moves to the heartbeat and J back", async () => {
  const { user } = renderApp("/jobs", hostWith([backup, paused]));
  const heartbeat = await screen.findByRole("link", { name: "Heartbeat" });
  const first = await screen.findByRole("link", { name: "Backup" });
  await user.keyboard("jj");
  expect(screen.getByRole("link", { name: "Invoices" })).toHaveFocus();
  await user.keyboard("k");
  expect(first).toHaveFocus();
  await user.keyboard("k");
  expect(heartbeat).toHaveFocus();
  await user.keyboard("k");
  expect(heartbeat).toHaveFocus();
  await user.keyboard("j");
  expect(first).toHaveFocus();
});

test("deleted job disappears at once and undo restores its id", async () => {
  const host = hostWith([backup, paused]);
  const { user } = renderApp("/jobs", host);
  await user.click(await screen.findByRole("button", { name: "More for Backup" }));
  await user.click(await screen.findByRole("menuitem", { name: /Delete/ }));
  await waitFor(() => expect(screen.queryByRole("link", { name: "Backup" })).not.toBeInTheDocument());
  await user.click(await screen.findByRole("button", { name: "Undo" }));
  expect(await screen.findByRole("link", { name: "Backup" })).toBeInTheDocument();
  const { state, ...rest } = backup.job;
  expect(state.revision).toBe(1);
  expect(host.called("cron.add")).toEqual([rest]);
});

test("no jobs teach by templates, and a template fills the form", async () => {
  const { user } = renderApp("/jobs", hostWith([]));
  await user.click(await screen.findByRole("link", { name: /Reminder/ }));
  expect(await screen.findByRole("textbox", { name: "Reminder" })).toHaveValue("Stand up and stretch for a minute.");
});

test("heartbeat shows without jobs", async () => {
  renderApp("/jobs", hostWith([]));
  const teach = await screen.findByRole("link", { name: /Reminder/ });
  const heartbeat = await screen.findByRole("link", { name: "Heartbeat" });
  expect(teach.compareDocumentPosition(heartbeat)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});

test("search shows the heartbeat only on a match", async () => {
  const { user } = renderApp("/jobs", hostWith([aJob({ id: "a", name: "Mine" })]));
  await screen.findByRole("link", { name: "Heartbeat" });
  await user.type(screen.getByRole("searchbox", { name: "Search jobs" }), "mine");
  await waitFor(() => expect(screen.queryByRole("link", { name: "Heartbeat" })).not.toBeInTheDocument());
  await user.clear(screen.getByRole("searchbox", { name: "Search jobs" }));
  await user.type(screen.getByRole("searchbox", { name: "Search jobs" }), "Heart");
  expect(await screen.findByRole("link", { name: "Heartbeat" })).toBeInTheDocument();
});

test("failed job list shows its error", async () => {
  renderApp("/jobs", fakeHost({ "cron.list": () => Promise.reject(new Error("The disk is full.")) }));
  expect(await screen.findByText("The disk is full.")).toBeInTheDocument();
});

test("job awaiting approval shows so in list and editor", async () => {
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ id: "job-1", name: "Weekly notes" })], broken: [], nextCursor: null }),
    "cron.get": () => aJob({ id: "job-1", name: "Weekly notes" }),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "approvals.list": () => ({
      approvals: [anApproval({ expiresAtMs: Date.now() + 600_000 }), anApproval({ id: "ask-2", jobId: "job-2" })],
    }),
  });
  const { user } = renderApp("/jobs", host);
  const row = within(await screen.findByRole("list", { name: "Jobs" })).getByRole("listitem");
  await waitFor(() => expect(within(row).getAllByText("Needs you").length).toBeGreaterThan(0));
  await user.click(within(row).getByRole("link", { name: "Weekly notes" }));
  expect(await screen.findByText(/^A run needs your approval/)).toHaveTextContent(
    "A run needs your approval for write_file.",
  );
  expect(screen.getByRole("link", { name: "Review" })).toHaveAttribute("href", "/approvals/ask-1");
});

test("job created by an agent is marked", async () => {
  renderApp(
    "/jobs",
    hostWith([
      aJob({ id: "a", name: "Mine" }),
      aJob({ id: "b", name: "Its", createdBy: { kind: "agent", runId: "r1" } }),
      aJob({ id: "c", name: "Odd", createdBy: "me" }),
      aJob({ id: "e", name: "Theirs", createdBy: { kind: "agent", client: "goose" } }),
      aJob({ id: "d", name: "Rewritten", payload: { kind: "systemEvent", text: "Up" }, messageBy: { kind: "agent" } }),
    ]),
  );
  const rows = within(await screen.findByRole("list", { name: "Jobs" })).getAllByRole("listitem");
  const named = (title: string) =>
    rows
      .filter((row) => within(row).queryByTitle(title) !== null)
      .map((row) => within(row).getByRole("link").textContent);
  expect(named("Created by an agent")).toEqual(["Its"]);
  expect(named("Created by “goose” (its own claim)")).toEqual(["Theirs"]);
  expect(named("Task written by an agent")).toEqual(["Rewritten"]);
});

test("unreadable job shows its reason and can be deleted", async () => {
  let broken = [{ id: "x", name: "Backup", reason: "The job cannot be read: name: expected a text, found a number" }];
  const host = fakeHost({
    "cron.list": () => ({ jobs: [paused], broken, nextCursor: null }),
    "cron.remove": () => {
      broken = [];
      return { job: null, followers: [], cancelledRuns: 0, withdrawnApprovals: 0, callerContinues: false };
    },
  });
  const { user } = renderApp("/jobs", host);
  expect(await screen.findByText(/“Backup” cannot run\. The job cannot be read/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Delete Backup" }));
  await waitFor(() => expect(screen.queryByText(/cannot run/)).not.toBeInTheDocument());
  expect(host.calls).toContainEqual({ method: "cron.remove", params: { id: "x" } });
});

test("heartbeat shows its recent states", async () => {
  const host = hostWith([backup]);
  host.answers["runs.list"] = ({ triggers }) => {
    const runs = triggers?.includes("heartbeat")
      ? [aRun({ id: "r2", state: "failed" }), aRun({ id: "r1", state: "nothingToReport" })]
      : [];
    return { runs, nextCursor: null, total: runs.length };
  };
  renderApp("/jobs", host);
  expect(await screen.findByRole("img", { name: "Last 2 runs: 1 nothing to report, 1 failed" })).toBeInTheDocument();
});

test("heartbeat is in no job filter", async () => {
  const { user } = renderApp("/jobs", hostWith([backup, paused]));
  expect(await screen.findByRole("link", { name: "Heartbeat" })).toBeInTheDocument();
  await user.click(screen.getByRole("radio", { name: /^Failing/ }));
  await waitFor(() => expect(screen.queryByRole("link", { name: "Heartbeat" })).not.toBeInTheDocument());
});
