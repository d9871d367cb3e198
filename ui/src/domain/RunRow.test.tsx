import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aJob, aPreview, aRun } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("row announces its state once and shows a short label", async () => {
  const run = aRun({ state: "nothingToReport", jobName: "Backup" });
  renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [run], nextCursor: null, total: 1 }) }));
  const row = (await screen.findByRole("link", { name: "Backup" })).parentElement;
  const short = screen.getByText("Nothing", { exact: true });
  expect(row).toContainElement(short);
  expect(short).toHaveAttribute("aria-hidden", "true");
  expect(row?.querySelector(".visually-hidden")).toHaveTextContent("Nothing to report");
});

test.each([
  ["skipped", "Skipped", "The computer was on battery"],
  ["missed", "Missed", "The computer was asleep"],
] as const)("%s run shows its state and its full reason on hover", async (state, word, reason) => {
  renderApp(
    "/runs",
    fakeHost({ "runs.list": () => ({ runs: [aRun({ state, reason })], nextCursor: null, total: 1 }) }),
  );
  const row = (await screen.findByRole("link", { name: "Backup" })).parentElement!;
  expect(within(row).getByText(word, { selector: "[aria-hidden]" })).toBeInTheDocument();
  expect(within(row).getByText(reason)).toBeInTheDocument();
  expect(row).toHaveAttribute("title", reason);
});

test("row in the job editor shows its state once", async () => {
  const runs = [aRun({ id: "r1", state: "skipped", reason: "The computer was on battery" }), aRun({ id: "r2" })];
  const host = fakeHost({
    "cron.get": () => aJob(),
    "cron.preview": () => aPreview(),
    "tools.catalog": () => ({ tools: [], refused: [] }),
    "runs.list": () => ({ runs, nextCursor: null, total: 2 }),
  });
  renderApp("/jobs/job-1", host);
  const row = (await screen.findByRole("link", { name: "The computer was on battery" })).parentElement!;
  expect(within(row).getByText("Skipped", { selector: "[aria-hidden]" })).toBeInTheDocument();
  expect(
    within(screen.getByRole("link", { name: "Succeeded" }).parentElement!).queryByText("Succeeded", {
      selector: "[aria-hidden]",
    }),
  ).not.toBeInTheDocument();
});

test("run between attempts shows as waiting to retry", async () => {
  const run = aRun({
    state: "running",
    finishedAtMs: null,
    durationMs: null,
    error: "No network.",
    nextAttemptAtMs: Date.now() + 600_000,
  });
  renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [run], nextCursor: null, total: 1 }) }));
  const row = (await screen.findByRole("link", { name: "Backup" })).parentElement!;
  expect(within(row).getByTitle("Waiting to retry")).toBeInTheDocument();
  expect(within(row).queryByText("Running")).not.toBeInTheDocument();
});

test("successful run shows only its outcome", async () => {
  const run = aRun({ summary: "All disks are fine." });
  renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [run], nextCursor: null, total: 1 }) }));
  const row = (await screen.findByText("All disks are fine.")).parentElement!;
  expect(within(row).queryByText("Succeeded", { selector: "[aria-hidden]" })).not.toBeInTheDocument();
});

test("cost appears before duration and only when present", async () => {
  const paid = aRun({
    id: "r2",
    jobName: "Brief",
    usage: { inputTokens: 900, cachedInputTokens: 0, outputTokens: 100, costMicroUsd: 4_200 },
  });
  renderApp("/runs", fakeHost({ "runs.list": () => ({ runs: [aRun(), paid], nextCursor: null, total: 2 }) }));
  const cells = async (name: string) =>
    [...(await screen.findByRole("link", { name })).parentElement!.children].map((cell) => cell.textContent);
  expect((await cells("Backup")).slice(-2)[0]).toBe("1 s");
  expect(await cells("Backup")).toHaveLength((await cells("Brief")).length - 1);
  expect((await cells("Brief")).slice(-3, -1)).toEqual(["$0.0042", "1 s"]);
});
