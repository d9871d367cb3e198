import { expect, test } from "vitest";

import type { Payload, ToolView } from "@/platform";
import { aTool } from "@/test/fixtures";

import { approvalLabel, type JobPermissions, firstSentence, humanizeSizes } from "./tools";

const turn: Payload = { kind: "agentTurn", message: "Look" };
const call: Payload = { kind: "toolCall", tool: "write_file", arguments: {} };

test.each<[string, JobPermissions | undefined, string[]]>([
  ["no job", undefined, ["No approval", "Some need approval", "Needs approval", "Always needs approval"]],
  [
    "a job that asks",
    { payload: turn },
    ["No approval", "Some need approval", "Needs approval", "Always needs approval"],
  ],
  [
    "a job that is told no",
    { payload: turn, policies: { approvals: "deny" } },
    ["No approval", "Some denied", "Denied unless granted", "Denied"],
  ],
  [
    "a job without what asks",
    { payload: turn, policies: { approvals: "skip" } },
    ["No approval", "Some denied", "Denied unless granted", "Denied"],
  ],
  ["a call that a person has written", { payload: call }, ["No approval", "No approval", "No approval", "No approval"]],
])("approval label follows the job: %s", (_, job, words) => {
  const tools: Partial<ToolView>[] = [
    { approval: "never" },
    { approval: "never", destructive: true, openWorld: true },
    { approval: "unlessGranted" },
    { approval: "always" },
  ];
  expect(tools.map((parts) => approvalLabel(aTool(parts), job))).toEqual(words);
});

test.each([
  [
    "Writes a text file, at most 1048576 bytes. It replaces what is there.",
    "Writes a text file, at most 1 MB. It replaces what is there.",
  ],
  ["At most 262144 bytes and 30 seconds.", "At most 262 kB and 30 seconds."],
  ["At most 400 bytes of 12 files.", "At most 400 bytes of 12 files."],
])("byte counts in %j become readable", (written, said) => {
  expect(humanizeSizes(written)).toBe(said);
});

test("first sentence does not end inside a size", () => {
  expect(firstSentence("At most 262144 bytes at once. More is cut.")).toBe("At most 262 kB at once.");
});
