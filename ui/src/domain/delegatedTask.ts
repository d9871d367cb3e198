/* Task of a coding agent, read from a journal step of `delegate`. The values come from the agent, so unknown ones are
   replaced and a step of another form has no task. */

import { isJsonObject } from "@/format/json";
import type { StepView } from "@/platform";

import { isFailedStep, stepError } from "./steps";

export const actionKinds = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] as const;
export type ActionKind = (typeof actionKinds)[number];

export const actionStatuses = ["pending", "in_progress", "completed", "failed"] as const;
export type ActionStatus = (typeof actionStatuses)[number];

/** Step of the agent. */
export interface AgentAction {
  title: string;
  kind: ActionKind;
  status: ActionStatus;
}

export interface DelegatedTask {
  agent: string;
  task: string;
  /** Undefined for the workspace. */
  folder: string | undefined;
  /** `finished`, `waiting for permission`, `stopped` or `session lost`; undefined while running. */
  state: string | undefined;
  actions: AgentAction[];
  /** Number of steps that the engine dropped. */
  earlierSteps: number;
  /** Markdown of the agent. */
  report: string;
  error: string | undefined;
}

/** Tool that gives a task to a coding agent. */
const delegateTool = "delegate";

/** Undefined for other steps. */
export function delegatedTask(step: StepView): DelegatedTask | undefined {
  if (step.kind !== "toolCall" || step.name !== delegateTool || !isJsonObject(step.input)) return undefined;
  const { agent, task, cwd } = step.input;
  if (typeof agent !== "string" || typeof task !== "string") return undefined;
  const output = isJsonObject(step.output) ? step.output : {};
  const report = textOf(output.result) ?? "";
  return {
    agent,
    task,
    folder: textOf(cwd),
    state: textOf(output.state),
    actions: Array.isArray(output.steps) ? output.steps.filter(isJsonObject).map(actionOf) : [],
    earlierSteps: typeof output.earlierSteps === "number" ? output.earlierSteps : 0,
    report,
    error: errorOf(step, report),
  };
}

function actionOf({ title, kind, status }: Record<string, unknown>): AgentAction {
  return {
    title: textOf(title) ?? "An action without a title",
    kind: actionKinds.find((known) => known === kind) ?? "other",
    status: actionStatuses.find((known) => known === status) ?? "pending",
  };
}

/** Error without the report, which the engine appends as the last message. */
function errorOf(step: StepView, report: string): string | undefined {
  const error = stepError(step.output);
  if (typeof error !== "string" || (!isFailedStep(step) && !isJsonObject(step.output))) return undefined;
  const end = ` Its last message: ${report}`;
  return report !== "" && error.endsWith(end) ? error.slice(0, -end.length) : error;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
