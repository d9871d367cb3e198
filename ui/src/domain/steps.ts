/* What a step of the journal says, read out of its JSON. The journal keeps what a model or a tool wrote, so nothing about
   its shape is certain: whatever cannot be read as words is shown as it is. */

import { count, money } from "@/format/amount";
import { argumentsLine, opening } from "@/format/text";
import type { RunView, StepView, UsageView } from "@/platform";

/** The words of a model's turn. */
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

/** The tools that a model's turn asked for, by name. */
export function callsOf(output: unknown): string[] {
  const { calls } = (output ?? {}) as { calls?: unknown };
  if (!Array.isArray(calls)) return [];
  return (calls as { tool?: unknown }[]).map(({ tool }) => tool).filter((tool) => typeof tool === "string");
}

/** What a failed step says of itself: its error in words where it has one, otherwise what it left. */
export function failureOf(output: unknown): unknown {
  const { error } = (output ?? {}) as { error?: unknown };
  return typeof error === "string" ? error : output;
}

/** What a tool answered, on one line: what it said of a failure, or its fields without those that only say it went well. */
export function resultLine(output: unknown): string {
  const said = failureOf(output);
  if (typeof said === "string") return said;
  if (typeof said !== "object" || said === null || Array.isArray(said)) return JSON.stringify(said);
  const fields = Object.entries(said).filter(([name, value]) => !(name === "success" && value === true) && value !== null && value !== "");
  return argumentsLine(Object.fromEntries(fields.map(([name, value]) => [name, typeof value === "string" ? opening(value) : value])));
}

/** What all steps together have used. A part of which nobody knows the price leaves nobody knowing that of the whole. */
export function usageOf(steps: readonly StepView[]): UsageView {
  const sum = (field: "inputTokens" | "cachedInputTokens" | "outputTokens") => steps.reduce((all, { usage }) => all + usage[field], 0);
  const paid = steps.map(({ usage }) => usage).filter((usage) => usage.inputTokens + usage.outputTokens > 0 || usage.costMicroUsd !== null);
  const isKnown = paid.every(({ costMicroUsd }) => costMicroUsd !== null);
  return {
    inputTokens: sum("inputTokens"), cachedInputTokens: sum("cachedInputTokens"), outputTokens: sum("outputTokens"),
    costMicroUsd: isKnown ? paid.reduce((all, { costMicroUsd }) => all + (costMicroUsd ?? 0), 0) : null,
  };
}

/** `3.1k in, 212 out`; nothing for a step that no model worked on. */
export function tokensLine(usage: UsageView): string | undefined {
  if (usage.inputTokens + usage.outputTokens === 0) return undefined;
  return `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`;
}

/** `$0.0042`, or that nobody knows it; nothing for a step that nobody is paid for. */
export function costWords({ inputTokens, outputTokens, costMicroUsd }: UsageView): string | undefined {
  if (inputTokens + outputTokens === 0) return costMicroUsd ? money(costMicroUsd) : undefined;
  return costMicroUsd === null ? "cost unknown" : money(costMicroUsd);
}

/** What the engine says of a step that was cut off because its run was cancelled. */
const cutOff = /^(?:the run was cancelled$|\S+ was stopped with its run\.)/;

/** What the run says of itself when a person has ended it. */
const byPerson = new Set(["Cancelled by you", "Stopped by you"]);

/** That a step was ended with its run and has not failed, in a word; undefined of every other step. */
export function stoppedWord(step: StepView, { state, reason }: Pick<RunView, "state" | "reason">): string | undefined {
  const said = failureOf(step.output);
  if (state !== "cancelled" || !wentWrong(step) || typeof said !== "string" || !cutOff.test(said)) return undefined;
  return byPerson.has(reason ?? "") ? "Stopped by you" : "Cancelled";
}

/** Whether a step ended badly, for its tone and for being opened from the start. */
export function wentWrong(step: StepView): boolean {
  return step.isError || step.status === "failed" || step.status === "unknown";
}
