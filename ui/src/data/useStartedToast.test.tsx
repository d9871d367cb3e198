import { act, screen, waitFor } from "@testing-library/react";
import { expect, onTestFinished, test, vi } from "vitest";

import { fakeHost } from "@/test/fakeHost";
import { aDetail, aJob, aRun } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

test("started toast links to the run and outlives a short run", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const host = fakeHost({
    "cron.list": () => ({ jobs: [aJob({ name: "Disk" })], broken: [], nextCursor: null }),
    "cron.run": () => ({ runId: "r9" }),
    "runs.get": () => aDetail({ id: "r9", state: "running", finishedAtMs: null }),
  });
  const { user, path } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Disk" });
  await user.keyboard("jr");
  expect(await screen.findByText("Started “Disk”")).toBeInTheDocument();
  host.answers["runs.get"] = () => aDetail({ id: "r9" });
  act(() => host.emit("run", { runId: "r9", jobId: "job-1", state: "succeeded" }));
  await act(() => vi.advanceTimersByTimeAsync(4_000));
  const link = screen.getByRole("button", { name: "View run" });
  await user.hover(link);
  await act(() => vi.advanceTimersByTimeAsync(20_000));
  expect(screen.getByText("Started “Disk”"), "under the pointer").toBeInTheDocument();
  await user.unhover(link);
  await act(() => vi.advanceTimersByTimeAsync(6_000));
  expect(screen.queryByText("Started “Disk”")).not.toBeInTheDocument();
  await user.keyboard("r");
  await user.click(await screen.findByRole("button", { name: "View run" }));
  expect(path()).toBe("/runs/r9");
});

test("started toast is omitted at the top of the run list", async () => {
  const runs = [aRun({ jobName: "Disk", state: "failed" })];
  const host = fakeHost({
    "runs.list": () => ({ runs, nextCursor: null, total: runs.length }),
    "runs.retry": () => ({ runId: "r9" }),
    "runs.get": () => aDetail({ id: "r9" }),
  });
  const { user, history } = renderApp("/runs", host);
  await screen.findByRole("link", { name: "Disk" });
  await user.keyboard("jr");
  await waitFor(() => expect(host.called("runs.retry")).toHaveLength(1));
  act(() => history.push('/runs?state=["failed"]'));
  await screen.findByRole("button", { name: "Clear filter: State" });
  expect(screen.queryByText("Started “Disk”")).not.toBeInTheDocument();
  await user.keyboard("r");
  await waitFor(() => expect(host.called("runs.retry")).toHaveLength(2));
  expect(await screen.findByText("Started “Disk”")).toBeInTheDocument();
});
