import { screen, waitFor, within } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import type { RunsListParams, RunView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aJob, aRun } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

/** Answers with pages over `runs`, as the gateway does: newest first, the cursor is the last id seen. */
function pagesOf(runs: RunView[]) {
  return ({ limit = 50, cursor, states }: RunsListParams) => {
    const matching = runs.filter((run) => states?.includes(run.state) ?? true);
    const from = cursor === undefined ? 0 : matching.findIndex((run) => run.id === cursor) + 1;
    const page = matching.slice(from, from + limit);
    return {
      runs: page,
      nextCursor: from + limit < matching.length ? (page.at(-1)?.id ?? null) : null,
      total: matching.length,
    };
  };
}

test("ten thousand runs render visible rows only", async () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => aRun({ id: `r${i}`, jobName: `Job ${i}` }));
  renderApp("/runs", fakeHost({ "runs.list": pagesOf(runs) }));
  const list = await screen.findByRole("list", { name: "Runs" });
  const rows = within(list).getAllByRole("listitem");
  expect(rows.length).toBeLessThan(60);
  expect(rows[0]).toHaveAttribute("aria-posinset", "1");
  expect(rows[0]).toHaveAttribute("aria-setsize", "10000");
  expect(screen.getByText("10,000 runs")).toBeInTheDocument();
});

test("J, K and arrows move rows and Enter opens", async () => {
  const runs = Array.from({ length: 30 }, (_, i) => aRun({ id: `r${i}`, jobName: `Job ${i}` }));
  const { user, path } = renderApp("/runs", fakeHost({ "runs.list": pagesOf(runs) }));
  await screen.findByRole("link", { name: "Job 0" });
  await user.keyboard("j");
  await waitFor(() => expect(screen.getByRole("link", { name: "Job 0" })).toHaveFocus());
  await user.keyboard("jj");
  await waitFor(() => expect(screen.getByRole("link", { name: "Job 2" })).toHaveFocus());
  await user.keyboard("k{ArrowDown}{ArrowDown}");
  await waitFor(() => expect(screen.getByRole("link", { name: "Job 3" })).toHaveFocus());
  const links = within(screen.getByRole("list", { name: "Runs" })).getAllByRole("link");
  expect(links.filter((link) => link.tabIndex === 0).map((link) => link.textContent)).toEqual(["Job 3"]);
  await user.keyboard("{Enter}");
  await waitFor(() => expect(path()).toBe("/runs/r3"));
});

test("narrow window gives runs two lines", async () => {
  const media = vi.spyOn(window, "matchMedia").mockImplementation(
    (query) =>
      ({
        matches: query === "(max-width: 520px)",
        addEventListener() {},
        removeEventListener() {},
      }) as unknown as MediaQueryList,
  );
  onTestFinished(() => media.mockRestore());
  renderApp("/runs", fakeHost({ "runs.list": pagesOf([aRun({ id: "r1" }), aRun({ id: "r2", jobName: "Mail" })]) }));
  const second = (await screen.findByRole("link", { name: "Mail" })).closest("li");
  expect(second).toHaveStyle({ height: "56px", transform: "translateY(56px)" });
  expect(screen.getByRole("list", { name: "Runs" })).toHaveStyle({ height: "112px" });
});

test("row of many slots shows their count", async () => {
  const runs = [
    aRun({
      id: "many",
      jobName: "Each minute",
      state: "missed",
      slotCount: 52_560,
      firstSlotAtMs: 86_400_000,
      slotAtMs: 86_400_000 + 52_559 * 60_000,
    }),
    aRun({ id: "one", jobName: "Backup" }),
  ];
  renderApp("/runs", fakeHost({ "runs.list": pagesOf(runs) }));
  const link = await screen.findByRole("link", { name: "Each minute" });
  const rows = within(screen.getByRole("list", { name: "Runs" })).getAllByRole("listitem");
  expect(within(rows[0]!).getByTitle(/^Covers 52,560 slots, from .*1970.* to .*197[01]/)).toHaveTextContent("×52,560");
  expect(rows[0]).toContainElement(link);
  expect(rows[1]).not.toHaveTextContent("×");
});

test("filter reaches gateway and URL and can be cleared", async () => {
  const host = fakeHost({
    "runs.list": pagesOf([aRun({ id: "ok" }), aRun({ id: "bad", jobName: "Broken", state: "failed" })]),
  });
  const { user, path } = renderApp("/runs", host);
  await screen.findByRole("link", { name: "Backup" });
  await user.click(screen.getByRole("button", { name: "State" }));
  await user.click(await screen.findByRole("option", { name: /^Failed/ }));
  await waitFor(() => expect(screen.queryByRole("link", { name: "Backup" })).not.toBeInTheDocument());
  expect(path()).toContain("failed");
  expect(host.called("runs.list")).toContainEqual(expect.objectContaining({ states: ["failed"] }));
  await user.keyboard("{Escape}");
  await user.click(screen.getByRole("button", { name: "Clear filter: State" }));
  expect(await screen.findByRole("link", { name: "Backup" })).toBeInTheDocument();
});

test("unmatched filter offers to clear it", async () => {
  const { user } = renderApp('/runs?state=["missed"]', fakeHost({ "runs.list": pagesOf([aRun()]) }));
  expect(await screen.findByText("No matching runs")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Clear filters" }));
  expect(await screen.findByRole("link", { name: "Backup" })).toBeInTheDocument();
});

test("ending run updates its row in place", async () => {
  const run = aRun({ state: "running", finishedAtMs: null, durationMs: null });
  const host = fakeHost({ "runs.list": () => ({ runs: [run], nextCursor: null, total: 1 }) });
  renderApp("/runs", host);
  expect((await screen.findAllByText("Running")).length).toBeGreaterThan(0);
  host.answers["runs.list"] = () => ({
    runs: [aRun({ summary: "All 4 disks are fine." })],
    nextCursor: null,
    total: 1,
  });
  host.emit("run", { runId: "run-1", jobId: "job-1", state: "succeeded" });
  expect(await screen.findByText("All 4 disks are fine.")).toBeInTheDocument();
});

test("empty history explains itself", async () => {
  renderApp("/runs", fakeHost());
  expect(await screen.findByText("No runs yet")).toBeInTheDocument();
});

test("failed history shows its error and can be retried", async () => {
  const host = fakeHost({
    "runs.list": () => Promise.reject(new Error("The disk is full.")),
    "cron.list": () => ({ jobs: [aJob()], broken: [], nextCursor: null }),
  });
  const { user } = renderApp("/runs", host);
  expect(await screen.findByText("The disk is full.")).toBeInTheDocument();
  host.answers["runs.list"] = pagesOf([aRun()]);
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("link", { name: "Backup" })).toBeInTheDocument();
});
