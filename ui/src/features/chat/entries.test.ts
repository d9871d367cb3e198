import { expect, test } from "vitest";

import { aMessage } from "@/test/fixtures";

import { mainEntries, jobEntries, jobFromProposal, taskLine, systemLines } from "./entries";

const call = (id: string, tool = "read_file") => ({ id, tool, arguments: { path: "a" } });

test("messages keep their author and group tool calls", () => {
  const entries = mainEntries([
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

test("unanswered message is marked unless open", () => {
  const said = (id: number, runId: string) => aMessage({ id, from: "person", text: "Hello", runId });
  const messages = [
    said(1, "r1"),
    said(2, "r2"),
    aMessage({ id: 3, from: "model", text: "Hello!", runId: "r2" }),
    said(4, "r3"),
  ];
  const kinds = (open: string[]) => mainEntries(messages, open).map(({ kind }) => kind);
  expect(kinds(["r3"])).toEqual(["person", "unanswered", "person", "model", "person"]);
  expect(kinds([])).toEqual(["person", "unanswered", "person", "model", "person", "unanswered"]);
  expect(mainEntries(messages)[1]).toMatchObject({ runId: "r1" });
  const ended = aMessage({
    id: 5,
    runId: "r3",
    text: "",
    calls: [{ id: "c", tool: "complete_run", arguments: { outcome: "report", summary: "42." } }],
  });
  expect(mainEntries([said(4, "r3"), ended]).map(({ kind }) => kind)).toEqual(["person", "model"]);
});

test("silent heartbeats fold into one entry", () => {
  const beat = (id: number, reply: string) => [
    aMessage({ id, from: "rouse", text: `beat ${id}` }),
    aMessage({ id: id + 1, from: "model", text: reply }),
  ];
  const entries = mainEntries([
    ...beat(1, "HEARTBEAT_OK"),
    ...beat(3, "ROUTINE_OK"),
    ...beat(5, "The backup has failed."),
  ]);
  expect(entries).toMatchObject([
    { kind: "quiet", texts: ["beat 1", "beat 3", "beat 5"] },
    { kind: "model", text: "The backup has failed." },
  ]);
});

test("sentinel reply to the user is shown", () => {
  expect(
    mainEntries([
      aMessage({ from: "person", text: "Say HEARTBEAT_OK" }),
      aMessage({ id: 2, from: "model", text: "HEARTBEAT_OK" }),
    ]).map(({ kind }) => kind),
  ).toEqual(["person", "model"]);
});

test("result without a call is skipped", () => {
  expect(mainEntries([aMessage({ from: "tool", callId: "c9", tool: "x", text: "y" })])).toEqual([]);
});

test("system lines are extracted", () => {
  expect(systemLines(["Look at this.\nSystem: Stand up.\nSystem: Cron Backup: failed", "nothing"])).toEqual([
    "Stand up.",
    "Cron Backup: failed",
  ]);
});

test.each([
  ['New job: Stretch\n{"routine":{"id":"j1","name":"Stretch"}}', { id: "j1", name: "Stretch" }],
  ["not json", undefined],
  ['{"routine":{"id":7}}', undefined],
])("created routine is recognised from %j", (text, made) => {
  expect(jobFromProposal({ call: call("c", "routine_create"), answer: { text, isError: false } })).toEqual(made);
  expect(jobFromProposal({ call: call("c", "routine_create"), answer: { text, isError: true } })).toBeUndefined();
  expect(jobFromProposal({ call: call("c"), answer: { text, isError: false } })).toBeUndefined();
});

test("job entries start with the task and add notes", () => {
  const entries = jobEntries([
    aMessage({ id: 1, from: "rouse", runId: "r1", text: "[cron:j1] News\nLook." }),
    aMessage({ id: 2, runId: "r1", calls: [call("c1")] }),
    aMessage({ id: 3, from: "rouse", runId: "r1", text: "You have made the same call before." }),
    aMessage({
      id: 4,
      runId: "r1",
      calls: [{ id: "c2", tool: "complete_run", arguments: { outcome: "nothing_to_report" } }],
    }),
    aMessage({ id: 5, from: "rouse", runId: "r2", text: "[cron:j1] News\nLook." }),
    aMessage({
      id: 6,
      runId: "r2",
      text: "Two things.",
      calls: [{ id: "c3", tool: "complete_run", arguments: { outcome: "report", summary: "Two things." } }],
    }),
  ]);
  expect(entries.map(({ kind }) => kind)).toEqual(["task", "work", "note", "nothing", "task", "model"]);
});

test("late run gets its task or its own heading", () => {
  const task = (id: number, runId: string) => aMessage({ id, from: "rouse", runId, text: "Look." });
  const late = aMessage({ id: 3, runId: "r1", text: "Found one." });
  expect(jobEntries([task(1, "r1"), task(2, "r2"), late])).toMatchObject([
    { kind: "task", runId: "r1" },
    { kind: "model", text: "Found one." },
    { kind: "task", runId: "r2" },
  ]);
  expect(jobEntries([task(2, "r2"), late])).toMatchObject([
    { kind: "task", runId: "r2" },
    { kind: "task", runId: "r1", text: "" },
    { kind: "model", text: "Found one." },
  ]);
});

test("task line omits the job prefix", () => {
  expect(taskLine("[cron:j1] News: Look at it.\nAll of it.\n\nIt is nine.", "Renamed")).toBe("Look at it.");
  expect(taskLine("[cron:j1] Bills: find them: Look: there.", "Bills: find them")).toBe("Look: there.");
  expect(taskLine("Look: there.", null)).toBe("Look: there.");
});

test("summary keeps its position without an author", () => {
  const told = [
    aMessage({ id: 1, from: "person", text: "Rain?" }),
    aMessage({ id: 2, from: "summary", text: "It rained.", summarizedMessages: 12, runId: "r1" }),
    aMessage({ id: 3, text: "No." }),
  ];
  const summary = { kind: "summary", text: "It rained.", summarizedMessages: 12, runId: "r1" };
  expect(mainEntries(told)).toMatchObject([{ kind: "person" }, summary, { kind: "model", text: "No." }]);
  expect(jobEntries(told)[1]).toMatchObject(summary);
});
