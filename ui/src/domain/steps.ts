/* Reads journal steps. The JSON comes from models and tools, so unreadable values are shown unchanged. */

import { count, money } from "@/format/amount";
import { argumentsLine, firstLineRaw } from "@/format/text";
import type { RunView, StepView, Usage } from "@/platform";

/** Text of a model turn. */
export function modelText(output: unknown): string {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null) return "";
  const { parts, text } = output as { parts?: unknown; text?: unknown };
  if (typeof text === "string") return text;
  const list = Array.isArray(output) ? (output as unknown[]) : Array.isArray(parts) ? (parts as unknown[]) : [];
  return list.map(partText).join("");
}

function partText(part: unknown): string {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : "";
}

/** Names of the tools that a model turn calls. */
export function calledTools(output: unknown): string[] {
  const { calls } = (output ?? {}) as { calls?: unknown };
  if (!Array.isArray(calls)) return [];
  return (calls as { tool?: unknown }[]).map(({ tool }) => tool).filter((tool) => typeof tool === "string");
}

/** Error text of a failed step, or the output. */
export function stepError(output: unknown): unknown {
  const { error } = (output ?? {}) as { error?: unknown };
  return typeof error === "string" ? error : output;
}

/** Tool result on one line, without fields that only confirm success. */
export function resultLine(output: unknown): string {
  const value = stepError(output);
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).filter(
    ([name, value]) => !(name === "success" && value === true) && value !== null && value !== "",
  );
  return argumentsLine(
    Object.fromEntries(fields.map(([name, value]) => [name, typeof value === "string" ? firstLineRaw(value) : value])),
  );
}

/** Total usage. Any unknown price makes the cost unknown. */
export function totalUsage(steps: readonly StepView[]): Usage {
  const sum = (field: "inputTokens" | "cachedInputTokens" | "outputTokens") =>
    steps.reduce((all, { usage }) => all + usage[field], 0);
  const paid = steps
    .map(({ usage }) => usage)
    .filter((usage) => usage.inputTokens + usage.outputTokens > 0 || usage.costMicroUsd !== null);
  const isKnown = paid.every(({ costMicroUsd }) => costMicroUsd !== null);
  return {
    inputTokens: sum("inputTokens"),
    cachedInputTokens: sum("cachedInputTokens"),
    outputTokens: sum("outputTokens"),
    costMicroUsd: isKnown ? paid.reduce((all, { costMicroUsd }) => all + (costMicroUsd ?? 0), 0) : null,
  };
}

/** `3.1k in, 212 out`; undefined without a model. */
export function tokensLabel(usage: Usage): string | undefined {
  if (usage.inputTokens + usage.outputTokens === 0) return undefined;
  return `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`;
}

/** `$0.0042` or `cost unknown`; undefined without a model. */
export function costLabel({ inputTokens, outputTokens, costMicroUsd }: Usage): string | undefined {
  if (inputTokens + outputTokens === 0) return costMicroUsd ? money(costMicroUsd) : undefined;
  return costMicroUsd === null ? "cost unknown" : money(costMicroUsd);
}

/** Engine text of a step that was cancelled with the run. */
const cancelledStep = /^(?:the run was cancelled$|\S+ was stopped with its run\.)/;

/** Run reasons of a cancellation by the user. */
const cancelledByPerson = new Set(["Cancelled by you", "Stopped by you"]);

/** Label of a step that was cancelled with the run; undefined for other steps. */
export function stopLabel(step: StepView, { state, reason }: Pick<RunView, "state" | "reason">): string | undefined {
  const error = stepError(step.output);
  if (state !== "cancelled" || !isFailedStep(step) || typeof error !== "string" || !cancelledStep.test(error))
    return undefined;
  return cancelledByPerson.has(reason ?? "") ? "Stopped by you" : "Cancelled";
}

export function isFailedStep(step: StepView): boolean {
  return step.isError || step.status === "failed" || step.status === "unknown";
}
