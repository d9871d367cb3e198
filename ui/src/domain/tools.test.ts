import { expect, test } from "vitest";

import type { Payload, ToolView } from "@/platform";
import { aTool } from "@/test/fixtures";

import { asksWord, type Bounds, firstSentence, forPeople } from "./tools";

const turn: Payload = { kind: "agentTurn", message: "Look" };
const call: Payload = { kind: "toolCall", tool: "write_file", arguments: {} };

test.each<[string, Bounds | undefined, string[]]>([
  ["no job", undefined, ["Never asks", "Asks for some calls", "Asks first", "Asks every time"]],
  ["a job that asks", { payload: turn }, ["Never asks", "Asks for some calls", "Asks first", "Asks every time"]],
  ["a job that is told no", { payload: turn, policies: { approvals: "deny" } }, ["Never asks", "Refuses some calls", "Refused unless granted", "Refused"]],
  ["a job without what asks", { payload: turn, policies: { approvals: "skip" } }, ["Never asks", "Refuses some calls", "Refused unless granted", "Refused"]],
  ["a call that a person has written", { payload: call }, ["Never asks", "Never asks", "Never asks", "Never asks"]],
])("whether a tool asks follows from the job: %s", (_, job, words) => {
  const tools: Partial<ToolView>[] = [{ approval: "never" }, { approval: "never", destructive: true, openWorld: true }, { approval: "unlessGranted" }, { approval: "always" }];
  expect(tools.map((parts) => asksWord(aTool(parts), job))).toEqual(words);
});

test.each([
  ["Writes a text file, at most 1048576 bytes. It replaces what is there.", "Writes a text file, at most 1 MB. It replaces what is there."],
  ["At most 262144 bytes and 30 seconds.", "At most 262 kB and 30 seconds."],
  ["At most 400 bytes of 12 files.", "At most 400 bytes of 12 files."],
])("sizes in %j are said as a person says them", (written, said) => {
  expect(forPeople(written)).toBe(said);
});

test("the first sentence does not end within a size", () => {
  expect(firstSentence("At most 262144 bytes at once. More is cut.")).toBe("At most 262 kB at once.");
});
