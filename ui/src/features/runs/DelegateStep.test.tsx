import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import type { RunDetail, RunView, StepView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aDetail, anApproval, aPermission, aStep, noUsage } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const input = { agent: "claude-code", task: "Fix the lint errors.\nThen run the tests.", cwd: "site" };

function aTask(output: unknown, parts: Partial<StepView> = {}): StepView {
  return aStep({ name: "delegate", input, output, ...parts });
}

function show(steps: StepView[], run: Partial<RunView> = {}, parts: Partial<RunDetail> = {}) {
  return renderApp("/runs/run-1", fakeHost({ "runs.get": () => aDetail(run, { steps, ...parts }) }));
}

const timeline = async () => within(await screen.findByRole("list", { name: "Steps" }));
const rows = (list: HTMLElement) => [...list.children].map(({ textContent }) => textContent);

test("task shows agent, folder, steps and report", async () => {
  const output = {
    agent: "claude-code",
    state: "finished",
    result: "**All** errors are fixed.",
    earlierSteps: 12,
    steps: [
      { title: "Look at a.ts\u202e", kind: "read", status: "completed" },
      { title: "npm test", kind: "execute", status: "failed" },
      { title: "Change the mode", kind: "switch_mode", status: "in_progress" },
    ],
  };
  const { user } = show([aTask(output, { usage: { ...noUsage, costMicroUsd: 250_000 } })]);
  const steps = await timeline();
  expect(steps.getByText("claude-code")).toBeInTheDocument();
  expect(steps.getByText(/^Coding agent in/)).toHaveTextContent("Coding agent in site");
  expect(steps.getByText("12 earlier steps are not shown.")).toBeInTheDocument();
  expect(rows(steps.getByRole("list", { name: "Steps of claude-code" }))).toEqual([
    "Read:Look at a.ts⟨U+202E⟩done",
    "Run:npm testfailed",
    "Switch mode:Change the modeunfinished",
  ]);
  expect(await steps.findByText("All", { selector: "strong" })).toBeInTheDocument();
  expect(steps.getByText(/\$0\.25/)).toBeInTheDocument();
  await user.click(steps.getByRole("button", { name: /^Task Fix the lint errors\./ }));
  expect(await steps.findByText(/Then run the tests\.$/)).toBeVisible();
});

test("200 steps show the newest and expand", async () => {
  const steps = Array.from({ length: 200 }, (_, i) => ({ title: `Step ${i + 1}`, kind: "edit", status: "completed" }));
  const { user } = show([aTask({ state: "finished", result: "Done.", steps })]);
  const list = await screen.findByRole("list", { name: "Steps of claude-code" });
  expect(rows(list)).toHaveLength(20);
  expect(list.firstChild).toHaveTextContent("Step 181");
  expect(list.lastChild).toHaveTextContent("Step 200");
  await user.click(screen.getByRole("button", { name: "Show all 200 steps" }));
  expect(rows(list)).toHaveLength(200);
  await user.click(screen.getByRole("button", { name: "Show the last 20 steps" }));
  expect(rows(list)).toHaveLength(20);
});

test("running task shows its progress and no steps", async () => {
  const step = aTask(null, { status: "started", durationMs: null });
  const run = { state: "running", finishedAtMs: null, durationMs: null } as const;
  show([step], run, { progress: [{ step: 1, tool: "delegate", text: "Edit b.ts" }] });
  const steps = await timeline();
  expect(steps.getByText("Edit b.ts")).toBeInTheDocument();
  expect(steps.queryByRole("list", { name: "Steps of claude-code" })).toBeNull();
});

test("waiting task becomes one that asked for permission", async () => {
  const output = {
    state: "waiting for permission",
    result: "",
    steps: [{ title: "Edit today.md", kind: "edit", status: "pending" }],
  };
  const waiting = aTask(output, { status: "inputRequired" });
  const run = { state: "awaitingApproval", finishedAtMs: null, durationMs: null } as const;
  const detail = aDetail(run, { steps: [waiting], approvals: [aPermission()] });
  const host = fakeHost({ "runs.get": () => detail });
  renderApp("/runs/run-1", host);
  const steps = await timeline();
  expect(steps.getByText("waiting for permission")).toBeInTheDocument();
  expect(rows(steps.getByRole("list", { name: "Steps of claude-code" }))).toEqual(["Edit:Edit today.mdpending"]);
  expect(steps.getByText("Permission requested:").parentElement).toHaveTextContent("claude-code");
  expect(steps.getByRole("button", { name: "Edit today.md" })).toBeInTheDocument();
  const answered = aPermission({ state: "approved", scope: "once", decidedFrom: "page", decidedAtMs: 1 });
  const next = aTask(null, { seq: 2, status: "started", durationMs: null });
  host.answers["runs.get"] = () =>
    aDetail({ ...run, state: "running" }, { steps: [waiting, next], approvals: [answered] });
  host.emit("run", { runId: "run-1", state: "running" });
  expect(await steps.findByText("asked for permission")).toBeInTheDocument();
  expect(rows(steps.getByRole("list", { name: "Steps of claude-code" }))).toEqual(["Edit:Edit today.mdasked"]);
});

test.each([
  [
    "stopped",
    { state: "stopped", result: "Half.", error: "It was cancelled. Its last message: Half.", steps: [] },
    "It was cancelled.",
  ],
  ["failed", "claude-code is not signed in. Sign in once with `claude`.", "claude-code is not signed in."],
])("%s task shows its error without the report", async (word, output, error) => {
  show([aTask(output, { isError: true, status: "failed" })], { state: "failed" });
  const steps = await timeline();
  expect(steps.getByText(word)).toBeInTheDocument();
  const shown = steps.getByRole("group", { name: "Error of claude-code" });
  expect(shown).toHaveTextContent(error);
  expect(shown).not.toHaveTextContent("Half.");
});

test("report equal to the summary is not repeated", async () => {
  show([aTask({ state: "finished", result: "All is done.", steps: [] })], { summary: "All is done." });
  expect((await timeline()).getByText("Same text as the result above")).toBeInTheDocument();
});

test("facts of a run name the coding agent", async () => {
  show([], {}, { payload: { kind: "agentTurn", message: "x", agent: "claude-code" }, approvals: [anApproval()] });
  expect((await screen.findByText("Coding agent")).nextSibling).toHaveTextContent("claude-code");
});
