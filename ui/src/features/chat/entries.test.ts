import { expect, test } from "vitest";

import { aMessage } from "@/test/fixtures";

import { entriesOf, entriesOfJob, routineMade, taskLine, toldLines } from "./entries";

const call = (id: string, tool = "read_file") => ({ id, tool, arguments: { path: "a" } });

test("words are said by whom they are from, and tools' work between them is one line", () => {
  const entries = entriesOf([
    aMessage({ id: 1, from: "person", text: "What is there?" }),
    aMessage({ id: 2, from: "model", text: "", calls: [call("c1"), call("c2", "list_dir")] }),
    aMessage({ id: 3, from: "tool", callId: "c2", tool: "list_dir", text: "two files" }),
    aMessage({ id: 4, from: "tool", callId: "c1", tool: "read_file", text: "no", isError: true }),
    aMessage({ id: 5, from: "model", text: "", calls: [call("c3")] }),
    aMessage({ id: 6, from: "model", text: " Two files. " }),
  ]);
  expect(entries.map(({ kind }) => kind)).toEqual(["person", "work", "model"]);
  expect(entries[1]).toMatchObject({
    made: [
      { call: { id: "c1" }, answer: { text: "no", isError: true } },
      { call: { id: "c2" }, answer: { text: "two files", isError: false } },
      { call: { id: "c3" }, answer: undefined },
    ],
  });
  expect(entries[2]).toMatchObject({ text: "Two files." });
});

test("what no model has answered says so under the person's words, and not while it is being answered", () => {
  const said = (id: number, runId: string) => aMessage({ id, from: "person", text: "Hello", runId });
  const messages = [said(1, "r1"), said(2, "r2"), aMessage({ id: 3, from: "model", text: "Hello!", runId: "r2" }), said(4, "r3")];
  const kinds = (open: string[]) => entriesOf(messages, open).map(({ kind }) => kind);
  expect(kinds(["r3"])).toEqual(["person", "unanswered", "person", "model", "person"]);
  expect(kinds([])).toEqual(["person", "unanswered", "person", "model", "person", "unanswered"]);
  expect(entriesOf(messages)[1]).toMatchObject({ runId: "r1" });
  const ended = aMessage({ id: 5, runId: "r3", text: "", calls: [{ id: "c", tool: "complete_run", arguments: { outcome: "report", summary: "42." } }] });
  expect(entriesOf([said(4, "r3"), ended]).map(({ kind }) => kind)).toEqual(["person", "model"]);
});

test("heartbeats with nothing to say are one quiet line; one that says something is heard", () => {
  const beat = (id: number, reply: string) => [aMessage({ id, from: "rouse", text: `beat ${id}` }), aMessage({ id: id + 1, from: "model", text: reply })];
  const entries = entriesOf([...beat(1, "HEARTBEAT_OK"), ...beat(3, "ROUTINE_OK"), ...beat(5, "The backup has failed.")]);
  expect(entries).toMatchObject([{ kind: "quiet", told: ["beat 1", "beat 3", "beat 5"] }, { kind: "model", text: "The backup has failed." }]);
});

test("a person who is answered with that word sees it", () => {
  expect(entriesOf([aMessage({ from: "person", text: "Say HEARTBEAT_OK" }), aMessage({ id: 2, from: "model", text: "HEARTBEAT_OK" })]).map(({ kind }) => kind)).toEqual(["person", "model"]);
});

test("an answer whose call nobody has seen is left to its run", () => {
  expect(entriesOf([aMessage({ from: "tool", callId: "c9", tool: "x", text: "y" })])).toEqual([]);
});

test("the lines for the person are found in what the model was told", () => {
  expect(toldLines(["Look at this.\nSystem: Stand up.\nSystem: Cron Backup: failed", "nothing"])).toEqual(["Stand up.", "Cron Backup: failed"]);
});

test.each([
  ['New job: Stretch\n{"routine":{"id":"j1","name":"Stretch"}}', { id: "j1", name: "Stretch" }],
  ["not json", undefined],
  ['{"routine":{"id":7}}', undefined],
])("a routine that was made is known by %j", (text, made) => {
  expect(routineMade({ call: call("c", "routine_create"), answer: { text, isError: false } })).toEqual(made);
  expect(routineMade({ call: call("c", "routine_create"), answer: { text, isError: true } })).toBeUndefined();
  expect(routineMade({ call: call("c"), answer: { text, isError: false } })).toBeUndefined();
});

test("in a job's conversation each run begins with its task, and what Rouse says on the way is a note", () => {
  const entries = entriesOfJob([
    aMessage({ id: 1, from: "rouse", runId: "r1", text: "[cron:j1] News\nLook." }),
    aMessage({ id: 2, runId: "r1", calls: [call("c1")] }),
    aMessage({ id: 3, from: "rouse", runId: "r1", text: "You have made the same call before." }),
    aMessage({ id: 4, runId: "r1", calls: [{ id: "c2", tool: "complete_run", arguments: { outcome: "nothing_to_report" } }] }),
    aMessage({ id: 5, from: "rouse", runId: "r2", text: "[cron:j1] News\nLook." }),
    aMessage({ id: 6, runId: "r2", text: "Two things.", calls: [{ id: "c3", tool: "complete_run", arguments: { outcome: "report", summary: "Two things." } }] }),
  ]);
  expect(entries.map(({ kind }) => kind)).toEqual(["task", "work", "note", "nothing", "task", "model"]);
});

test("a run that is answered late stands with its task, or with a heading of its own where that is too long ago", () => {
  const task = (id: number, runId: string) => aMessage({ id, from: "rouse", runId, text: "Look." });
  const late = aMessage({ id: 3, runId: "r1", text: "Found one." });
  expect(entriesOfJob([task(1, "r1"), task(2, "r2"), late])).toMatchObject([{ kind: "task", runId: "r1" }, { kind: "model", text: "Found one." }, { kind: "task", runId: "r2" }]);
  expect(entriesOfJob([task(2, "r2"), late])).toMatchObject([{ kind: "task", runId: "r2" }, { kind: "task", runId: "r1", text: "" }, { kind: "model", text: "Found one." }]);
});

test("the line of a task is what it asks, not which job it is", () => {
  expect(taskLine("[cron:j1] News: Look at it.\nAll of it.\n\nIt is nine.", "Renamed")).toBe("Look at it.");
  expect(taskLine("[cron:j1] Bills: find them: Look: there.", "Bills: find them")).toBe("Look: there.");
  expect(taskLine("Look: there.", null)).toBe("Look: there.");
});

test("a summary stands where it was made, and is nobody's words", () => {
  const told = [aMessage({ id: 1, from: "person", text: "Rain?" }), aMessage({ id: 2, from: "summary", text: "It rained.", standsFor: 12, runId: "r1" }), aMessage({ id: 3, text: "No." })];
  const summary = { kind: "summary", text: "It rained.", standsFor: 12, runId: "r1" };
  expect(entriesOf(told)).toMatchObject([{ kind: "person" }, summary, { kind: "model", text: "No." }]);
  expect(entriesOfJob(told)[1]).toMatchObject(summary);
});
