/* What was said, as a person follows it: their words, the model's, and between them quiet lines for what tools did and for
   what Rouse told the model by itself. Nothing is left out; quiet lines hold it all. */

import { changedJob, type ChangedJob } from "@/domain/changedJob";
import { firstLine } from "@/format/text";
import type { CallView, MessageView } from "@/platform";

export interface Made {
  call: CallView;
  /** What it answered; none while nobody knows. */
  answer: { text: string; isError: boolean } | undefined;
}

export type Entry =
  | { kind: "person"; key: string; text: string; atMs: number }
  | { kind: "model"; key: string; text: string; atMs: number; runId: string | null }
  | { kind: "work"; key: string; made: Made[] }
  | { kind: "quiet"; key: string; atMs: number; told: string[] }
  | { kind: "task"; key: string; atMs: number; text: string; line: string; runId: string | null }
  | { kind: "note"; key: string; text: string }
  | { kind: "summary"; key: string; text: string; atMs: number; standsFor: number; runId: string | null }
  | { kind: "unanswered"; key: string; runId: string }
  | { kind: "nothing"; key: string };

/** A whole answer that means: nothing to say. */
const silences = new Set(["HEARTBEAT_OK", "ROUTINE_OK"]);

/** The conversation with the person: whatever Rouse tells the model stands together until somebody says something. What the
    person wrote and no model has answered says so, unless its run is among those that are `open`. */
export function entriesOf(messages: readonly MessageView[], open: readonly string[] = []): Entry[] {
  const answered = new Set([...open, ...messages.filter(isAnswer).map(({ runId }) => runId)]);
  const unanswered = messages.filter(({ from, runId }) => from === "person" && runId !== null && !answered.has(runId));
  const entries = readMain(messages);
  for (const { id, runId } of unanswered) {
    const place = entries.findIndex(({ key }) => key === `m${id}`);
    entries.splice(place + 1, 0, { kind: "unanswered", key: `u${id}`, runId: runId ?? "" });
  }
  return entries;
}

/** Whether the model says something with it: in words, or by ending the run. */
function isAnswer({ from, text, calls }: MessageView): boolean {
  return from === "model" && (text.trim() !== "" || calls.some(({ tool }) => tool === "complete_run"));
}

function readMain(messages: readonly MessageView[]): Entry[] {
  return read(messages, (entries, { id, atMs, text }) => {
    const last = entries.at(-1);
    if (last?.kind === "quiet") last.told.push(text);
    else entries.push({ kind: "quiet", key: `m${id}`, atMs, told: [text] });
  });
}

/** The conversation of a job with its model, run by run, also where one was answered after the next had begun: each begins with
    its task, or with a task without words where that was said too long ago; what Rouse says to the model on its way is a note. */
export function entriesOfJob(messages: readonly MessageView[], name: string | null = null): Entry[] {
  return runsOf(messages).flatMap((ofRun, place) => {
    let isBegun = false;
    const entries = read(ofRun, (told, { id, atMs, text, runId }) => {
      if (isBegun && runId !== null) told.push({ kind: "note", key: `m${id}`, text });
      else told.push({ kind: "task", key: `m${id}`, atMs, text, line: taskLine(text, name), runId });
      isBegun = true;
    });
    const [first] = ofRun;
    if (place === 0 || first === undefined || first.runId === null || first.from === "rouse" || first.from === "summary") return entries;
    return [{ kind: "task", key: `t${first.id}`, atMs: first.atMs, text: "", line: "", runId: first.runId }, ...entries];
  });
}

/** The messages of each run together, by the first of them; a summary is of no run, it stands where it was made. */
function runsOf(messages: readonly MessageView[]): MessageView[][] {
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

/** What a task asks, on one line, without the words before it that tell the model which job it is. Its name may have been another
    one then, and may hold a colon. */
export function taskLine(text: string, name: string | null): string {
  const behind = text.replace(/^\[cron:[^\]]*\] /, "");
  if (behind === text) return firstLine(text);
  const named = `${name}: `;
  return firstLine(name !== null && behind.startsWith(named) ? behind.slice(named.length) : behind.replace(/^[^\n]*?: /, ""));
}

function read(messages: readonly MessageView[], tell: (entries: Entry[], message: MessageView) => void): Entry[] {
  const entries: Entry[] = [];
  const calls = new Map<string, Made>();
  for (const message of messages) {
    if (message.from === "tool") answerCall(calls, message);
    else if (message.from === "person") entries.push({ kind: "person", key: `m${message.id}`, text: message.text, atMs: message.atMs });
    else if (message.from === "rouse") tell(entries, message);
    else if (message.from === "summary") sumUp(entries, message);
    else say(entries, calls, message);
  }
  return entries;
}

function say(entries: Entry[], calls: Map<string, Made>, message: MessageView) {
  const { id, atMs, runId } = message;
  const text = message.text.trim();
  const end = message.calls.find(({ tool }) => tool === "complete_run");
  if (end === undefined && message.calls.length === 0 && silences.has(text)) {
    if (keepsSilence(entries, id)) return;
  }
  if (text !== "") entries.push({ kind: "model", key: `m${id}`, text, atMs, runId });
  work(entries, calls, message, message.calls.filter((call) => call !== end));
  if (end === undefined) return;
  const { outcome, summary } = (end.arguments ?? {}) as { outcome?: unknown; summary?: unknown };
  if (outcome === "nothing_to_report") keepsSilence(entries, id);
  // How a run ends is what the model says of it.
  else if (typeof summary === "string" && summary.trim() !== text) entries.push({ kind: "model", key: `e${id}`, text: summary.trim(), atMs, runId });
}

function sumUp(entries: Entry[], { id, text, atMs, standsFor, runId }: MessageView) {
  entries.push({ kind: "summary", key: `m${id}`, text, atMs, standsFor: standsFor ?? 0, runId });
}

/** Nothing to say about what Rouse told is no entry beside it; about a task it is a word. */
function keepsSilence(entries: Entry[], id: number): boolean {
  const last = entries.at(-1);
  if (last?.kind === "quiet") return true;
  if (last?.kind !== "task" && last?.kind !== "work" && last?.kind !== "note") return false;
  entries.push({ kind: "nothing", key: `e${id}` });
  return true;
}

function work(entries: Entry[], calls: Map<string, Made>, { id }: MessageView, asked: readonly CallView[]) {
  if (asked.length === 0) return;
  const made = asked.map((call): Made => ({ call, answer: undefined }));
  for (const one of made) calls.set(one.call.id, one);
  const last = entries.at(-1);
  if (last?.kind === "work") last.made.push(...made);
  else entries.push({ kind: "work", key: `w${id}`, made });
}

function answerCall(calls: Map<string, Made>, { callId, text, isError }: MessageView) {
  const made = callId === null ? undefined : calls.get(callId);
  if (made) made.answer = { text, isError };
}

/** The lines for the person in what Rouse told the model: `System: …`, without that word. */
export function toldLines(told: readonly string[]): string[] {
  return told.flatMap((text) => text.split("\n")).filter((line) => line.startsWith("System: ")).map((line) => line.slice("System: ".length));
}

/** Whether a call came to nothing. A proposal that the person has changed was refused, and has come to a job; what they have
    denied did not fail. */
export function hasFailed(made: Made): boolean {
  return made.answer?.isError === true && routineChanged(made) === undefined && !wasDenied(made);
}

/** Whether the person has said no to a call, by what the model is told then. */
export function wasDenied(made: Made): boolean {
  const { call, answer } = made;
  const told = `The person said no to this call of ${call.tool}`;
  return answer?.isError === true && (answer.text.startsWith(`${told}. `) || answer.text.startsWith(`${told}: `)) && routineChanged(made) === undefined;
}

/** The routine that the person has made of what a call proposed. */
export function routineChanged({ call, answer }: Made): ChangedJob | undefined {
  return call.tool === "routine_create" && answer?.isError === true ? changedJob(answer.text) : undefined;
}

/** The routine that a call has made: its id and its name. */
export function routineMade({ call, answer }: Made): { id: string; name: string } | undefined {
  if (call.tool !== "routine_create" || !answer || answer.isError) return undefined;
  const found = /\{[\s\S]*\}/.exec(answer.text)?.[0];
  try {
    const { routine } = JSON.parse(found ?? "") as { routine?: { id?: unknown; name?: unknown } };
    return typeof routine?.id === "string" && typeof routine.name === "string" ? { id: routine.id, name: routine.name } : undefined;
  } catch {
    return undefined;
  }
}
