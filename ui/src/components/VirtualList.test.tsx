import { act, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import type { JobView } from "@/platform";
import { type FakeHost, fakeHost } from "@/test/fakeHost";
import { aJob, aPreview, aRun } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

afterEach(() => void vi.restoreAllMocks());

/** Host that sorts jobs as the engine does: paused jobs last. */
function hostWith(names: readonly string[]) {
  const host = fakeHost({ "cron.run": () => ({ runId: null }) }) as FakeHost & { jobs: JobView[] };
  host.jobs = names.map(named);
  const ordered = () => [...host.jobs.filter(({ job }) => job.enabled), ...host.jobs.filter(({ job }) => !job.enabled)];
  host.answers["cron.list"] = () => ({ jobs: ordered(), broken: [], nextCursor: null });
  host.answers["cron.update"] = ({ id, patch }) => {
    const { enabled } = patch as { enabled: boolean };
    host.jobs = host.jobs.map((view) => (view.job.id === id ? { ...view, job: { ...view.job, enabled } } : view));
    return aJob({ id, enabled });
  };
  return host;
}

const named = (name: string) => aJob({ id: name, name });

/** Change by another client, with the engine's event. */
function elsewhere(host: ReturnType<typeof hostWith>, jobs: JobView[]) {
  host.jobs = jobs;
  act(() => host.emit("cron", { jobId: "any", action: "updated" }));
}

const order = () =>
  within(screen.getByRole("list", { name: "Jobs" }))
    .getAllByRole("link")
    .map((link) => link.textContent);

test("shortcuts act on the focused job after rows are inserted", async () => {
  const host = hostWith(["Morning", "Noon", "Night"]);
  const { user } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Noon" });
  await user.keyboard("jj");
  expect(screen.getByRole("link", { name: "Noon" })).toHaveFocus();
  elsewhere(host, ["Dawn", "Morning", "Noon", "Night"].map(named));
  await screen.findByRole("link", { name: "Dawn" });
  expect(screen.getByRole("link", { name: "Noon" })).toHaveFocus();
  await user.keyboard("r");
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "Noon", mode: "force" }]));
  await user.keyboard("j");
  expect(screen.getByRole("link", { name: "Night" })).toHaveFocus();
});

test("P pressed twice pauses and resumes the same job in place", async () => {
  const host = hostWith(["Disk", "Mail", "Tax"]);
  const { user } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Disk" });
  await user.keyboard("jp");
  await waitFor(() => expect(host.jobs[0]!.job.enabled).toBe(false));
  // Waits for the engine's new order.
  elsewhere(
    host,
    host.jobs.map((view) => (view.job.id === "Tax" ? named("Taxes") : view)),
  );
  await screen.findByRole("link", { name: "Taxes" });
  expect(order()).toEqual(["Disk", "Mail", "Taxes"]);
  await user.keyboard("p");
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(2));
  expect(order()).toEqual(["Disk", "Mail", "Taxes"]);
  expect(host.called("cron.update")).toEqual([
    { id: "Disk", patch: { enabled: false } },
    { id: "Disk", patch: { enabled: true } },
  ]);
});

test("shortcuts act on the focused run after rows are inserted", async () => {
  const runs = [aRun({ id: "r2", jobName: "Noon" }), aRun({ id: "r1", jobName: "Morning" })];
  const host = fakeHost({
    "runs.list": () => ({ runs, nextCursor: null, total: runs.length }),
    "runs.retry": () => ({ runId: null }),
  });
  const { user } = renderApp("/runs", host);
  await screen.findByRole("link", { name: "Noon" });
  await user.keyboard("j");
  runs.unshift(aRun({ id: "r3", jobName: "Night" }));
  act(() => host.emit("run", { runId: "r3", jobId: "job-1", state: "succeeded" }));
  await screen.findByRole("link", { name: "Night" });
  await user.keyboard("r");
  await waitFor(() => expect(host.called("runs.retry")).toEqual([{ id: "r2" }]));
});

test("focus of a removed job moves to its successor", async () => {
  const host = hostWith(["Morning", "Noon", "Night"]);
  const { user } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Noon" });
  await user.keyboard("jj");
  elsewhere(host, ["Morning", "Night"].map(named));
  await waitFor(() => expect(screen.getByRole("link", { name: "Night" })).toHaveFocus());
  elsewhere(host, [named("Morning")]);
  await waitFor(() => expect(screen.getByRole("link", { name: "Morning" })).toHaveFocus());
  await user.keyboard("kp");
  await waitFor(() => expect(host.called("cron.update")).toEqual([{ id: "Morning", patch: { enabled: false } }]));
});

test("P pressed twice acts once when the row disappears", async () => {
  const host = hostWith(["Disk", "Mail", "Tax", "Walk"]);
  const { user, path } = renderApp("/jobs?filter=active", host);
  await screen.findByRole("link", { name: "Disk" });
  await user.keyboard("jp");
  await waitFor(() => expect(screen.getByRole("link", { name: "Mail" })).toHaveFocus());
  await user.keyboard("pre");
  expect(path()).toBe("/jobs?filter=active");
  const paused = (id: string) => ({ id, patch: { enabled: false } });
  expect(host.called("cron.update")).toEqual([paused("Disk")]);
  expect(host.called("cron.run")).toEqual([]);
  await user.keyboard("j");
  expect(screen.getByRole("link", { name: "Mail" }), "the next after the one that is gone").toHaveFocus();
  await user.keyboard("p");
  await waitFor(() => expect(screen.getByRole("link", { name: "Tax" })).toHaveFocus());
  await user.keyboard("{ArrowDown}p");
  await waitFor(() => expect(screen.getByRole("link", { name: "Walk" })).toHaveFocus());
  await user.keyboard("p");
  act(() => screen.getByRole("link", { name: "Walk" }).blur());
  await user.click(screen.getByRole("button", { name: "More for Walk" }));
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.getByRole("button", { name: "More for Walk" })).toHaveFocus());
  await user.keyboard("p");
  await waitFor(() => expect(host.called("cron.update")).toEqual(["Disk", "Mail", "Tax", "Walk"].map(paused)));
});

test("job removed from an unfocused list takes no focus", async () => {
  const host = hostWith(["Morning", "Noon"]);
  renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Noon" });
  elsewhere(host, [named("Noon")]);
  await waitFor(() => expect(order()).toEqual(["Noon"]));
  expect(screen.getByRole("link", { name: "Noon" })).not.toHaveFocus();
});

test("moved focused row scrolls into view", async () => {
  const brought = vi.spyOn(Element.prototype, "scrollIntoView");
  const names = Array.from({ length: 40 }, (_, i) => `Job ${i}`);
  const host = hostWith(names);
  const { user } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Job 0" });
  await user.keyboard("j");
  // The job fires; the next slot is the last of all jobs.
  elsewhere(host, [...names.slice(1), names[0]!].map(named));
  await waitFor(() => expect(order().at(-1)).toBe("Job 0"));
  expect(screen.getByRole("link", { name: "Job 0" })).toHaveFocus();
  expect(brought.mock.contexts.at(-1)).toBe(screen.getByRole("link", { name: "Job 0" }).closest("li"));
});

test("scroll position follows the visible rows", async () => {
  const names = Array.from({ length: 60 }, (_, i) => `Job ${i}`);
  const host = hostWith(names);
  renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Job 0" });
  const scrolled = vi.spyOn(Element.prototype, "scrollBy");
  act(() => {
    document.getElementById("main")!.scrollTop = 400;
    document.getElementById("main")!.dispatchEvent(new Event("scroll"));
  });
  // The first job fires; the next slot is the last of all jobs.
  elsewhere(host, [...names.slice(1), names[0]!].map(named));
  await waitFor(() => expect(scrolled).toHaveBeenLastCalledWith({ top: -40, behavior: "instant" }));
  elsewhere(host, ["Dawn", ...names.slice(1), names[0]!].map(named));
  await waitFor(() => expect(scrolled).toHaveBeenLastCalledWith({ top: 40, behavior: "instant" }));
  expect(scrolled).toHaveBeenCalledTimes(2);
});

test("returning restores the row and reopening starts at the first", async () => {
  const host = hostWith(["Morning", "Noon", "Night"]);
  host.answers["cron.get"] = ({ id }) => named(id);
  host.answers["cron.preview"] = () => aPreview();
  host.answers["tools.catalog"] = () => ({ tools: [], refused: [] });
  const { user, history, path } = renderApp("/jobs", host);
  await screen.findByRole("link", { name: "Noon" });
  await user.keyboard("jj{Enter}");
  await screen.findByRole("textbox", { name: "Name" });
  expect(path()).toBe("/jobs/Noon");
  act(() => history.back());
  await waitFor(() => expect(screen.getByRole("link", { name: "Noon" })).toHaveFocus());
  await user.keyboard("j");
  expect(screen.getByRole("link", { name: "Night" })).toHaveFocus();
  await user.click(screen.getByRole("link", { name: "Settings" }));
  await screen.findByRole("heading", { name: "Settings" });
  await user.click(within(screen.getByRole("navigation", { name: "Main" })).getByRole("link", { name: "Jobs" }));
  await screen.findByRole("link", { name: "Noon" });
  expect(screen.getByRole("list", { name: "Jobs" })).not.toContainElement(document.activeElement as HTMLElement);
});

test("returning to a removed row focuses its replacement inertly", async () => {
  const host = hostWith(["Disk", "Mail", "Tax"]);
  host.answers["cron.get"] = ({ id }) => host.jobs.find(({ job }) => job.id === id)!;
  host.answers["cron.preview"] = () => aPreview();
  host.answers["tools.catalog"] = () => ({ tools: [], refused: [] });
  const { user, path } = renderApp("/jobs?filter=active", host);
  await screen.findByRole("link", { name: "Mail" });
  await user.keyboard("jj{Enter}");
  await screen.findByRole("textbox", { name: "Name" });
  await user.keyboard("p");
  await waitFor(() => expect(host.called("cron.update")).toHaveLength(1));
  expect(path()).toBe("/jobs/Mail");
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.getByRole("link", { name: "Tax" })).toHaveFocus());
  expect(path()).toBe("/jobs?filter=active");
  await user.keyboard("prp");
  expect(host.called("cron.update")).toEqual([{ id: "Mail", patch: { enabled: false } }]);
  expect(host.called("cron.run")).toEqual([]);
  await user.keyboard("jr");
  await waitFor(() => expect(host.called("cron.run")).toEqual([{ id: "Tax", mode: "force" }]));
});
