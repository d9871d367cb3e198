/* What the gate decided about a call, in the words of a page. Each kind of refusal gets its words here and nowhere else; what a
   hook is called or a person has said is cut to one line, with all of it to be seen. A run is read hours later, so when a
   tool may be called again is said from the call on, and not from now. */

import { duration } from "@/format/amount";
import { opening } from "@/format/text";
import { visible } from "@/format/visible";
import type { GateView, RefusalView, StepView } from "@/platform";

import { changedJob } from "./changedJob";

/** What was decided, and which hook had made the call of another one; nothing of what is no call. */
export function gateWords({ gate, kind }: StepView): string | undefined {
  if (gate === null) return kind === "toolCall" ? "needed no yes" : undefined;
  const by = gate.decision === "written" ? null : gate.rewrittenBy;
  return [decisionWords(gate), by !== null && `rewritten by the hook ${short(by)}`].filter((words) => typeof words === "string").join(" · ");
}

/** Whether a call was not let through: then it was never made, and has not failed. */
export function isRefused({ gate }: StepView): boolean {
  return gate?.decision === "refused";
}

function decisionWords(gate: GateView): string | undefined {
  switch (gate.decision) {
    case "written":
      return "written into the job";
    case "answered":
      return "allowed by you";
    case "granted":
      return "covered by a grant";
    case "rewritten":
      return undefined;
    case "refused":
      return gate.why === null ? "refused" : refusalWords(gate.why);
  }
}

function refusalWords(why: RefusalView): string {
  switch (why.kind) {
    case "unknownTool":
      return "refused: there is no such tool";
    case "misfit":
      return "refused: did not fit the tool’s parameters";
    case "rateLimited":
      return `refused: over its rate, may be tried again after ${duration(Math.ceil(why.waitMs / 1000) * 1000)}`;
    case "notListed":
      return "refused: not on the list of tools";
    case "ceiling":
      return `refused: may only look, told of what nobody has trusted (${short(why.skills.join(", "))})`;
    case "unattended":
      return "refused: only while you are there";
    case "unasked":
      return `refused: needs a yes, and approvals are set to ${why.approvals}`;
    case "hook":
      return hookWords(why);
    case "denied":
      return deniedWords(why.reason);
    case "expired":
      return "question expired";
    case "jobGone":
      return "refused: needs a yes, and the job was deleted";
    case "earlierAsks":
      return "refused: earlier runs wait for an answer";
    case "leak":
      return `refused by the safety layer, which found ${short(why.found.join(", "))}`;
    case "secret":
      return `refused: the secret ${short(why.name)} could not be filled in`;
    case "unkept":
      return "refused: holds a stored secret that must not be written down";
    case "budget":
      return "refused: over budget";
    case "noSandbox":
      return "refused: no sandbox for it here";
    case "impossible":
      return "refused: could not be carried out";
  }
}

function deniedWords(reason: string | null): string {
  if (reason === null) return "refused by you";
  const changed = changedJob(reason);
  return changed ? `changed by you: made as “${short(changed.name)}”` : `refused by you: ${short(reason)}`;
}

function hookWords({ hook, how }: Extract<RefusalView, { kind: "hook" }>): string {
  switch (how) {
    case "saidNo":
      return `refused by the hook ${short(hook)}`;
    case "didNotAnswer":
      return `refused: the hook ${short(hook)} did not answer`;
    case "keptRewriting":
      return `refused: the hook ${short(hook)} rewrote it again and again`;
  }
}

function short(text: string): string {
  return visible(opening(text, 60));
}
