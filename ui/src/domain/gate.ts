/* Labels of gate decisions. The engine words each decision; retry times count from the call. */

import { firstLineRaw } from "@/format/text";
import { showInvisible } from "@/format/visible";
import type { StepView } from "@/platform";

import { parseChangedJob } from "./changedJob";

/** Gate decision, and the hook that rewrote the call; undefined for other steps. */
export function gateLabel({ gate, gateText, kind }: StepView): string | undefined {
  if (gate === null) return kind === "toolCall" ? "no approval needed" : undefined;
  const reason = gate.decision === "refused" && gate.refusal?.kind === "denied" ? gate.refusal.reason : null;
  const changed = reason === null ? undefined : parseChangedJob(reason);
  if (changed) return `changed by you: created as “${showInvisible(firstLineRaw(changed.name, 60))}”`;
  return gateText ?? undefined;
}

/** True if the call was refused, so never made. */
export function isRefused({ gate }: StepView): boolean {
  return gate?.decision === "refused";
}
