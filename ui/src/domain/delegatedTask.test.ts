import { expect, test } from "vitest";

import { aStep } from "@/test/fixtures";

import { delegatedTask } from "./delegatedTask";

const input = { agent: "claude-code", task: "Fix the lint errors." };

test("report, steps and state of a task are read", () => {
  const output = {
    agent: "claude-code",
    state: "finished",
    result: "**Done.**",
    earlierSteps: 12,
    steps: [{ title: "Read a.ts", kind: "read", status: "completed" }],
  };
  expect(delegatedTask(aStep({ name: "delegate", input: { ...input, cwd: "site" }, output }))).toEqual({
    ...input,
    folder: "site",
    state: "finished",
    report: "**Done.**",
    earlierSteps: 12,
    actions: [{ title: "Read a.ts", kind: "read", status: "completed" }],
    error: undefined,
  });
});

test("unknown kinds and states of a step are replaced", () => {
  const output = { steps: [{ title: 7, kind: "dance", status: "maybe" }, "text", null] };
  expect(delegatedTask(aStep({ name: "delegate", input, output }))?.actions).toEqual([
    { title: "An action without a title", kind: "other", status: "pending" },
  ]);
});

test.each([
  ["text", "claude-code is not signed in.", "claude-code is not signed in."],
  ["object", { error: "It ended." }, "It ended."],
  [
    "report",
    { result: "Half.", error: "claude-code was cancelled. Its last message: Half." },
    "claude-code was cancelled.",
  ],
])("error in a %s is read without the report", (_, output, error) => {
  expect(delegatedTask(aStep({ name: "delegate", input, output, isError: true }))?.error).toBe(error);
});

test.each([
  { name: "http", input },
  { name: "delegate", input: { agent: 7, task: "x" } },
  { name: "delegate", input: null },
  { name: "delegate", input, kind: "note" as const },
])("step %# has no task", (parts) => {
  expect(delegatedTask(aStep(parts))).toBeUndefined();
});
