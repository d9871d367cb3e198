/* What became of a question, and how long it still waits, in words. */

import { changedJob } from "@/domain/changedJob";
import { isLive } from "@/domain/runState";
import { duration } from "@/format/amount";
import { when } from "@/format/time";
import type { AnsweredFrom, ApprovalScope, ApprovalView, RunDetail, RunState } from "@/platform";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const scopes: Record<ApprovalScope, string> = { once: "Allowed once", run: "Allowed for this run", always: "Allowed always" };
const places: Record<AnsweredFrom, string> = { page: "here", cli: "from the command line", notification: "from the notification", tray: "from the tray" };

const titles: Record<string, string> = {
  routine_create: "Make this job?", routine_update: "Change this job?", routine_delete: "Delete this job?", routine_fire: "Run this job now?",
};

/** A plain question for tools that a person knows by another name; undefined for all others. */
export function questionTitle(tool: string): string | undefined {
  return titles[tool];
}

/** `Allowed once`, `Denied`, `Nobody answered in time`. */
export function answerWord({ state, scope, reason }: ApprovalView): string {
  switch (state) {
    case "pending":
      return "Waits for an answer";
    case "approved":
      return scopes[scope ?? "once"];
    case "denied":
      return reason !== null && changedJob(reason) ? "Changed by you" : "Denied";
    case "expired":
      return "Nobody answered in time";
    case "withdrawn":
      return "Not needed any more";
    case "covered":
      return "Covered by a grant";
  }
}

/** `Allowed once from the command line, 07:31`. */
export function answerWords(approval: ApprovalView, now: number): string {
  const { answeredFrom, decidedAtMs } = approval;
  const where = answeredFrom === null ? "" : ` ${places[answeredFrom]}`;
  return `${answerWord(approval)}${where}${decidedAtMs === null ? "" : `, ${when(decidedAtMs, now)}`}`;
}

/** How the run that asked stands. It goes on when all of its questions have an answer. */
export interface AskingRun {
  /** Its state; nothing while that is not known. */
  state: RunState | undefined;
  /** How many other questions of it are open. */
  others: number;
  /** It makes this one call, without a model: a no is told to nobody, and ends it. */
  makesOneCall: boolean;
}

export function askingRun(detail: Pick<RunDetail, "run" | "payload"> | undefined, others: number): AskingRun {
  const kind = (detail?.payload as { kind?: unknown } | null | undefined)?.kind;
  return { state: detail?.run.state, others, makesOneCall: kind === "toolCall" || kind === "trial" };
}

/** What the answer means for the run that asked; of one that is over, what it meant. Of one that was stopped or broken off nobody
    knows whether it went on before that. */
export function afterwards({ state, scope, reason }: ApprovalView, { state: runState, others, makesOneCall }: AskingRun): string | undefined {
  const isStopped = runState === "cancelled" || runState === "interrupted";
  const [goes, is] = runState !== undefined && !isLive(runState) ? ["went", "was"] : ["goes", "is"];
  const once = others === 0 ? "" : others === 1 ? ", once its other question has an answer" : `, once its ${others} other questions have an answer`;
  switch (state) {
    case "pending":
      return undefined;
    case "approved":
      if (isStopped) return scope === "always" ? "A grant covers such calls from now on: it stands under Grants." : undefined;
      return scope === "always" ? `The run ${goes} on with this call${once}, and a grant covers the next ones: it stands under Grants.` : `The run ${goes} on with exactly this call${once}.`;
    case "denied":
    case "expired":
      if (isStopped || makesOneCall) return `The call was not made.${reason === null ? "" : ` The reason given: “${reason}”`}`;
      return reason === null ? `The model ${is} told so, and the run ${goes} on without it${once}.` : `The model ${is} told: “${reason}”`;
    case "withdrawn":
      return "The run ended before anybody answered.";
    case "covered":
      return `You have granted this since it was asked${isStopped ? "" : `, so the run ${goes} on by the grant${once}`}.`;
  }
}

/** `It writes the value of the stored secret mail into the file.`; undefined for calls that write none. */
export function valuesWords({ writesValues }: Pick<ApprovalView, "writesValues">): string | undefined {
  const [only, ...others] = writesValues.map((name) => `\`${name}\``);
  if (only === undefined) return undefined;
  const values = others.length === 0 ? `the value of the stored secret ${only}` : `the values of the stored secrets ${new Intl.ListFormat("en").format([only, ...others])}`;
  return `It writes ${values} into the file.`;
}

/** A stored secret, named in the place of its value; `core` spells it the same way. */
const handle = /\{\{\s*secret:[^{}\s]*\s*\}\}/;

/** What stands in the place of a value that is not shown. */
const mark = /\[(?:hidden|redacted): [^\]]*\]/;

/** How the arguments of the call are to be read: they are called exact only where nothing stands for something else. */
export function argumentsWords({ writesValues, arguments: given }: Pick<ApprovalView, "writesValues" | "arguments">): string {
  const text = JSON.stringify(given);
  if (mark.test(text)) return "Some values are not shown";
  if (writesValues.length > 0) return "As they will be passed on, with its value in the place of each handle";
  if (handle.test(text)) return "As they will be passed on; a handle stands for a stored secret";
  return "Exactly as they will be passed on";
}

/** How long it has waited, rounded down: `48 s`, `6 min`, `2 h 5 min`, `3 d 4 h`. */
export function waitedWords(waitedMs: number): string {
  return wholeWords(waitedMs, waitedMs < minute ? second : waitedMs < day ? minute : hour);
}

/** Below this a countdown warns. */
export const warnBelowMs = 5 * 60_000;

/** `24 min`, `4 min 12 s`, `48 s`, as precise as it helps while one decides. */
export function leftWords(leftMs: number): string {
  const seconds = Math.ceil(leftMs / second) * second;
  return wholeWords(seconds, seconds < warnBelowMs ? second : seconds < day ? minute : hour);
}

/** The duration in whole units of so many milliseconds: what is left over is not yet there. */
function wholeWords(ms: number, unit: number): string {
  const whole = Math.floor(Math.max(0, ms) / unit) * unit;
  return whole === 0 ? "0 s" : duration(whole);
}
