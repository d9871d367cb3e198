/* Result of a check of a built tool, read from a journal step of `tool_check`. The values come from a model and a tool,
   so a step of another form has no result. */

import { isJsonObject } from "@/format/json";
import type { StepView } from "@/platform";

import type { ShownTest } from "./toolBuilds";

export interface ToolCheckResult {
  name: string;
  hash: string | undefined;
  hasPassed: boolean;
  errors: string[];
  tests: ShownTest[];
}

/** Labels of the tools that build a tool, by name. */
export const buildToolLabels: ReadonlyMap<string, string> = new Map([
  ["tool_check", "Check a tool"],
  ["tool_offer", "Offer a tool"],
]);

/** Undefined for other steps. */
export function toolCheckResult(step: StepView): ToolCheckResult | undefined {
  if (step.kind !== "toolCall" || step.name !== "tool_check") return undefined;
  const output = parsed(step.output);
  if (!isJsonObject(output) || typeof output.name !== "string" || typeof output.passed !== "boolean") return undefined;
  const { name, hash, passed, errors, tests } = output;
  return {
    name,
    hash: typeof hash === "string" ? hash : undefined,
    hasPassed: passed,
    errors: textsOf(errors),
    tests: Array.isArray(tests) ? tests.filter(isJsonObject).map(testOf) : [],
  };
}

/** A result is JSON, or the text of it. */
function parsed(output: unknown): unknown {
  if (typeof output !== "string") return output;
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

function testOf({ name, passed, message, log }: Record<string, unknown>): ShownTest {
  return {
    name: typeof name === "string" ? name : "A test without a name",
    passed: passed === true,
    ...(typeof message === "string" && { message }),
    log: textsOf(log),
  };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
