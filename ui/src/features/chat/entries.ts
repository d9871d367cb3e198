/* Groups messages into entries: messages of both sides, and folded entries for tool calls and system events. Omits
   nothing. */

import { parseChangedJob, type ChangedJob } from "@/domain/changedJob";
import { firstLine } from "@/format/text";
import type { MessageView, ToolCallRequest } from "@/platform";

export interface ChatToolCall {
  call: ToolCallRequest;
  /** Undefined until the result arrives. */
  answer: { text: string; isError: boolean } | undefined;
  /** Run with the files that the call may have returned. */
  filesOf?: string;
}

export type ChatEntry =
  | { kind: "person"; key: string; text: string; atMs: number }
  | { kind: "model"; key: string; text: string; atMs: number; runId: string | null }
  | { kind: "work"; key: string; made: ChatToolCall[] }
  | { kind: "quiet"; key: string; atMs: number; texts: string[] }
  | { kind: "task"; key: string; atMs: number; text: string; line: string; runId: string | null }
  | { kind: "note"; key: string; text: string }
  | { kind: "summary"; key: string; text: string; atMs: number; summarizedMessages: number; runId: string | null }
  | { kind: "unanswered"; key: string; runId: string }
  | { kind: "nothing"; key: string };

/** Replies that mean nothing to report. */
const silentReplies = new Set(["HEARTBEAT_OK", "ROUTINE_OK"]);

/** Entries of the main session. Messages without an answer are marked, unless in `open`. */
export function mainEntries(messages: readonly MessageView[], open: readonly string[] = []): ChatEntry[] {
  const answered = new Set([...open, ...messages.filter(isAnswer).map(({ runId }) => runId)]);
  const unanswered = messages.filter(({ from, runId }) => from === "person" && runId !== null && !answered.has(runId));
  const entries = groupMain(messages);
  for (const { id, runId } of unanswered) {
    const place = entries.findIndex(({ key }) => key === `m${id}`);
    entries.splice(place + 1, 0, { kind: "unanswered", key: `u${id}`, runId: runId ?? "" });
  }
  return entries;
}

/** True if the message answers: by text or by ending the run. */
function isAnswer({ from, text, calls }: MessageView): boolean {
  return from === "model" && (text.trim() !== "" || calls.some(({ tool }) => tool === "complete_run"));
}

function groupMain(messages: readonly MessageView[]): ChatEntry[] {
  return readEntries(messages, (entries, { id, atMs, text }) => {
    const last = entries.at(-1);
    if (last?.kind === "quiet") last.texts.push(text);
    else entries.push({ kind: "quiet", key: `m${id}`, atMs, texts: [text] });
  });
}

/** Entries of a job's session, run by run. Each run starts with the task; later messages from Rouse are notes. */
export function jobEntries(messages: readonly MessageView[], name: string | null = null): ChatEntry[] {
  return groupByRun(messages).flatMap((ofRun, place) => {
    let isBegun = false;
    const entries = readEntries(ofRun, (added, { id, atMs, text, runId }) => {
      if (isBegun && runId !== null) added.push({ kind: "note", key: `m${id}`, text });
      else added.push({ kind: "task", key: `m${id}`, atMs, text, line: taskLine(text, name), runId });
      isBegun = true;
    });
    const [first] = ofRun;
    if (
      place === 0 ||
      first === undefined ||
      first.runId === null ||
      first.from === "rouse" ||
      first.from === "summary"
    )
      return entries;
    return [
      { kind: "task", key: `t${first.id}`, atMs: first.atMs, text: "", line: "", runId: first.runId },
      ...entries,
    ];
  });
}

/** Messages grouped by run; summaries belong to no run. */
function groupByRun(messages: readonly MessageView[]): MessageView[][] {
  const runs: MessageView[][] = [];
  const byId = new Map<string, MessageView[]>();
  for (const message of messages) {
    const runId = message.from === "summary" ? null : message.runId;
    const known = runId === null ? undefined : byId.get(runId);
    if (known) known.push(message);
    else {
      const run = [message];
      runs.push(run);
      if (runId !== null) byId.set(runId, run);
    }
  }
  return runs;
}

/** Task on one line, without the `[cron:…] name:` prefix. The job may have been renamed; names may contain colons. */
export function taskLine(text: string, name: string | null): string {
  const behind = text.replace(/^\[cron:[^\]]*\] /, "");
  if (behind === text) return firstLine(text);
  const named = `${name}: `;
  return firstLine(
    name !== null && behind.startsWith(named) ? behind.slice(named.length) : behind.replace(/^[^\n]*?: /, ""),
  );
}

function readEntries(
  messages: readonly MessageView[],
  addRouseMessage: (entries: ChatEntry[], message: MessageView) => void,
): ChatEntry[] {
  const entries: ChatEntry[] = [];
  const calls = new Map<string, ChatToolCall>();
  for (const message of messages) {
    if (message.from === "tool" && message.callId === null) setFiles(entries, message);
    else if (message.from === "tool") setCallResult(calls, message);
    else if (message.from === "person")
      entries.push({ kind: "person", key: `m${message.id}`, text: message.text, atMs: message.atMs });
    else if (message.from === "rouse") addRouseMessage(entries, message);
    else if (message.from === "summary") addSummary(entries, message);
    else addModelMessage(entries, calls, message);
  }
  return entries;
}

function addModelMessage(entries: ChatEntry[], calls: Map<string, ChatToolCall>, message: MessageView) {
  const { id, atMs, runId } = message;
  const text = message.text.trim();
  const end = message.calls.find(({ tool }) => tool === "complete_run");
  if (end === undefined && message.calls.length === 0 && silentReplies.has(text)) {
    if (addSilence(entries, id)) return;
  }
  if (text !== "") entries.push({ kind: "model", key: `m${id}`, text, atMs, runId });
  addToolCalls(
    entries,
    calls,
    message,
    message.calls.filter((call) => call !== end),
  );
  if (end === undefined) return;
  const { outcome, summary } = (end.arguments ?? {}) as { outcome?: unknown; summary?: unknown };
  if (outcome === "nothing_to_report") addSilence(entries, id);
  // The summary of `complete_run` is the model's message.
  else if (typeof summary === "string" && summary.trim() !== text)
    entries.push({ kind: "model", key: `e${id}`, text: summary.trim(), atMs, runId });
}

function addSummary(entries: ChatEntry[], { id, text, atMs, summarizedMessages, runId }: MessageView) {
  entries.push({ kind: "summary", key: `m${id}`, text, atMs, summarizedMessages: summarizedMessages ?? 0, runId });
}

/** Adds "nothing to report" to a task; system events need none. */
function addSilence(entries: ChatEntry[], id: number): boolean {
  const last = entries.at(-1);
  if (last?.kind === "quiet") return true;
  if (last?.kind !== "task" && last?.kind !== "work" && last?.kind !== "note") return false;
  entries.push({ kind: "nothing", key: `e${id}` });
  return true;
}

function addToolCalls(
  entries: ChatEntry[],
  calls: Map<string, ChatToolCall>,
  { id }: MessageView,
  requested: readonly ToolCallRequest[],
) {
  if (requested.length === 0) return;
  const made = requested.map((call): ChatToolCall => ({ call, answer: undefined }));
  for (const one of made) calls.set(one.call.id, one);
  const last = entries.at(-1);
  if (last?.kind === "work") last.made.push(...made);
  else entries.push({ kind: "work", key: `w${id}`, made });
}

function setCallResult(calls: Map<string, ChatToolCall>, { callId, text, isError }: MessageView) {
  const made = callId === null ? undefined : calls.get(callId);
  if (made) made.answer = { text, isError };
}

/** Marks the calls before a message of attachments. It names no call, so the journal tells which call has the files. */
function setFiles(entries: readonly ChatEntry[], { runId }: MessageView) {
  const last = entries.findLast(({ kind }) => kind === "work");
  if (last?.kind !== "work" || runId === null) return;
  for (const made of last.made) if (made.answer !== undefined) made.filesOf ??= runId;
}

/** `System: …` lines without the prefix. */
export function systemLines(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith("System: "))
    .map((line) => line.slice("System: ".length));
}

/** True if a call failed. Denied calls and replaced proposals did not fail. */
export function isFailedCall(made: ChatToolCall): boolean {
  return made.answer?.isError === true && jobFromChangedProposal(made) === undefined && !isDeniedCall(made);
}

/** True if the user denied a call; matches the engine's text, also of older builds. */
export function isDeniedCall(made: ChatToolCall): boolean {
  const { call, answer } = made;
  const denials = ["denied", "said no to"].flatMap((verb) => {
    const denial = `The person ${verb} this call of ${call.tool}`;
    return [`${denial}. `, `${denial}: `];
  });
  return (
    answer?.isError === true &&
    denials.some((denial) => answer.text.startsWith(denial)) &&
    jobFromChangedProposal(made) === undefined
  );
}

/** Job that the user created from a proposal. */
export function jobFromChangedProposal({ call, answer }: ChatToolCall): ChangedJob | undefined {
  return call.tool === "routine_create" && answer?.isError === true ? parseChangedJob(answer.text) : undefined;
}

/** Job that a call created. */
export function jobFromProposal({ call, answer }: ChatToolCall): { id: string; name: string } | undefined {
  if (call.tool !== "routine_create" || !answer || answer.isError) return undefined;
  const found = /\{[\s\S]*\}/.exec(answer.text)?.[0];
  try {
    const { routine } = JSON.parse(found ?? "") as { routine?: { id?: unknown; name?: unknown } };
    return typeof routine?.id === "string" && typeof routine.name === "string"
      ? { id: routine.id, name: routine.name }
      : undefined;
  } catch {
    return undefined;
  }
}
