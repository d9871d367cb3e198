/* Text for approval decisions and times. */

import { parseChangedJob } from "@/domain/changedJob";
import { isLive } from "@/domain/runState";
import { duration } from "@/format/amount";
import { when } from "@/format/time";
import type { ApprovalScope, ApprovalView, DecisionSurface, InputAnswer, RunDetail, RunState } from "@/platform";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const scopes: Record<ApprovalScope, string> = {
  once: "Allowed once",
  run: "Allowed for this run",
  always: "Allowed always",
};
const decisionSources: Record<DecisionSurface, string> = {
  page: "in the app",
  cli: "from the command line",
  notification: "from the notification",
  tray: "from the tray",
  channel: "on a channel",
};

const titles: Record<string, string> = {
  routine_create: "Create this job?",
  routine_update: "Change this job?",
  routine_delete: "Delete this job?",
  routine_fire: "Run this job now?",
};

/** Plain title for job tools; undefined for others. */
export function approvalTitle(tool: string): string | undefined {
  return titles[tool];
}

const answers: Record<InputAnswer["action"], string> = {
  accept: "Answered",
  decline: "Declined",
  cancel: "Cancelled",
};

/** `Allowed once`, `Denied`, `Expired`. */
export function decisionLabel({ state, scope, reason, inputAnswer }: ApprovalView): string {
  if (inputAnswer !== null) return answers[inputAnswer.action];
  switch (state) {
    case "pending":
      return "Pending";
    case "approved":
      return scopes[scope ?? "once"];
    case "denied":
      return reason !== null && parseChangedJob(reason) ? "Changed by you" : "Denied";
    case "expired":
      return "Expired";
    case "withdrawn":
      return "Withdrawn";
    case "covered":
      return "Covered by a grant";
  }
}

/** `Allowed once from the command line, 07:31`. */
export function decisionSummary(approval: ApprovalView, now: number): string {
  const { decidedFrom, decidedBy, decidedAtMs } = approval;
  const where =
    decidedBy !== null ? ` from ${decidedBy}` : decidedFrom === null ? "" : ` ${decisionSources[decidedFrom]}`;
  return `${decisionLabel(approval)}${where}${decidedAtMs === null ? "" : `, ${when(decidedAtMs, now)}`}`;
}

/** Run that requested an approval. Resumes when all approvals are decided. */
export interface RequestingRun {
  /** Undefined until loaded. */
  state: RunState | undefined;
  /** Other pending approvals of the run. */
  others: number;
  /** A tool call without a model, which a denial ends. */
  makesOneCall: boolean;
}

export function requestingRun(detail: Pick<RunDetail, "run" | "payload"> | undefined, others: number): RequestingRun {
  const kind = (detail?.payload as { kind?: unknown } | null | undefined)?.kind;
  return { state: detail?.run.state, others, makesOneCall: kind === "toolCall" || kind === "trial" };
}

/** Effect of a decision on the run. Nothing is claimed about a cancelled or interrupted run. */
export function decisionEffect(
  { state, scope, reason, input, inputAnswer, agent }: ApprovalView,
  { state: runState, others, makesOneCall }: RequestingRun,
): string | undefined {
  const isStopped = runState === "cancelled" || runState === "interrupted";
  const [goes, gets] = runState !== undefined && !isLive(runState) ? ["continued", "got"] : ["continues", "gets"];
  const once =
    others === 0
      ? ""
      : others === 1
        ? " after its other approval is decided"
        : ` after its ${others} other approvals are decided`;
  if (input !== null && (state === "approved" || state === "denied" || state === "expired")) {
    if (isStopped || (state === "expired" && makesOneCall)) return "The call did not finish.";
    const what = { accept: "your answer", decline: "your refusal", cancel: "no answer" }[
      inputAnswer?.action ?? "cancel"
    ];
    return `${input.server} ${gets} ${what}, and the run ${goes}${once}.`;
  }
  if (agent !== null && (state === "approved" || state === "denied" || state === "expired")) {
    if (isStopped) return undefined;
    if (state === "expired") return `${agent} ${gets} no answer, so its task was cancelled.`;
    if (state === "denied") return `${agent} ${goes} without this action${once}.`;
    const repeats = scope === "run" ? ", and may repeat the same action in this task" : "";
    return `${agent} ${goes} with exactly this action${once}${repeats}.`;
  }
  switch (state) {
    case "pending":
      return undefined;
    case "approved":
      if (isStopped) return scope === "always" ? "A grant covers such calls from now on. See Grants." : undefined;
      return scope === "always"
        ? `The run ${goes} with this call${once}, and a grant covers such calls from now on. See Grants.`
        : `The run ${goes} with exactly this call${once}.`;
    case "denied":
    case "expired":
      if (isStopped || makesOneCall) return `The call was not made.${reason === null ? "" : ` Reason: “${reason}”`}`;
      return reason === null
        ? `The run ${goes} without the call${once}.`
        : `The agent ${gets} your reason: “${reason}”`;
    case "withdrawn":
      return "The run ended before your decision.";
    case "covered":
      return `A grant that you gave after this request covers it${isStopped ? "" : `, so the run ${goes}${once}`}.`;
  }
}

/** Secret handle, as written by `core`. */
const handle = /\{\{\s*secret:[^{}\s]*\s*\}\}/;

/** Redaction mark. */
const mark = /\[(?:hidden|redacted): [^\]]*\]/;

/** States whether the shown arguments are exact. */
export function argumentsNote({ arguments: given }: Pick<ApprovalView, "arguments">): string {
  const text = JSON.stringify(given);
  if (mark.test(text)) return "Some values are redacted";
  if (handle.test(text)) return "As passed to the tool; handles stand for stored secrets";
  return "Exactly as passed to the tool";
}

/** `48 s`, `6 min`, `2 h 5 min`, `3 d 4 h`, rounded down. */
export function elapsedLabel(waitedMs: number): string {
  return wholeUnits(waitedMs, waitedMs < minute ? second : waitedMs < day ? minute : hour);
}

export const urgentBelowMs = 5 * 60_000;

/** `24 min`, `4 min 12 s`, `48 s`. */
export function remainingLabel(leftMs: number): string {
  const seconds = Math.ceil(leftMs / second) * second;
  return wholeUnits(seconds, seconds < urgentBelowMs ? second : seconds < day ? minute : hour);
}

/** Duration in whole units. */
function wholeUnits(ms: number, unit: number): string {
  const whole = Math.floor(Math.max(0, ms) / unit) * unit;
  return whole === 0 ? "0 s" : duration(whole);
}
