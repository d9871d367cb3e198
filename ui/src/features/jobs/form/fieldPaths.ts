/* Maps error paths of the engine to form fields. Errors without a field are shown above the form. */

import { toSentence } from "@/format/text";

import { agentFields, codingAgentFields, jobFields, modelFields } from "./fieldTable";
import type { JobForm } from "./jobForm";

export interface FieldProblem {
  path: string;
  message: string;
}

/** Schedule errors by field. */
export type ScheduleErrors = ReadonlyMap<keyof JobForm, string>;

/** Paths of fields outside the tables, and of whole objects. */
const otherFieldByPath = {
  name: "name",
  wakeMode: "wakeMode",
  sessionTarget: "what",
  "payload.kind": "what",
  "payload.text": "text",
  "payload.message": "message",
  "payload.tools": "tools",
  "payload.useTools": "toolChoice",
  "payload.tool": "tool",
  "payload.arguments": "arguments",
  "payload.notifyWhen": "notifyWhen",
  "payload.notifyWhen.cel": "condition",
  "schedule.kind": "when",
  "schedule.at": "at",
  "schedule.atMs": "at",
  "schedule.everyMs": "every",
  "schedule.expr": "expr",
  "schedule.tz": "zone",
  "schedule.jitterMs": "jitterSeconds",
  "schedule.source": "source",
  "schedule.pattern": "pattern",
  "schedule.filters": "filters",
  "schedule.filters.jobId": "afterJob",
  "schedule.filters.status": "afterEnd",
  "policies.misfire": "misfire",
  "policies.budget": "tokensPerRun",
  "policies.quietHours": "quietHours",
} as const satisfies Record<string, keyof JobForm>;

const tables = { ...jobFields, ...agentFields, ...codingAgentFields, ...modelFields };

const fieldByPath = new Map<string, keyof JobForm>([
  ...Object.entries(otherFieldByPath),
  ...Object.entries(tables).map(([name, { path }]) => [path, name as keyof typeof tables] as const),
]);

/** Path of an object with fields of its own. */
type GroupPath = "policies.misfire" | "policies.budget";
/** Path with a form field. */
export type FieldPath =
  Exclude<keyof typeof otherFieldByPath, GroupPath> | (typeof tables)[keyof typeof tables]["path"];

/** Field of the longest known path prefix: `payload.tools[2]` → tools. */
export function fieldAt(path: string): keyof JobForm | undefined {
  for (let rest = path; rest !== ""; rest = rest.slice(0, Math.max(rest.lastIndexOf("."), rest.lastIndexOf("["), 0))) {
    const field = fieldByPath.get(rest);
    if (field !== undefined) return field;
  }
  return undefined;
}

/** Errors by field, and the rest. A field shows the first error; a list shows one per entry. */
export function place(complaints: readonly FieldProblem[]): {
  placed: Map<keyof JobForm, string>;
  others: FieldProblem[];
} {
  const placed = new Map<keyof JobForm, string>();
  const others: FieldProblem[] = [];
  for (const complaint of complaints) {
    const field = fieldAt(complaint.path);
    if (field === undefined) others.push(complaint);
    else if (!placed.has(field)) placed.set(field, toSentence(complaint.message));
    else if (complaint.path.endsWith("]")) placed.set(field, `${placed.get(field)} ${toSentence(complaint.message)}`);
  }
  return { placed, others };
}
