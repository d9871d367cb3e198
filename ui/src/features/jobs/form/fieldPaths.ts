/* Maps error paths of the engine to form fields. Errors without a field are shown above the form. */

import { toSentence } from "@/format/text";

import type { JobForm } from "./jobForm";

export interface FieldProblem {
  path: string;
  message: string;
}

/** Schedule errors by field. */
export type ScheduleErrors = ReadonlyMap<keyof JobForm, string>;

const fieldByPath: Record<string, keyof JobForm> = {
  name: "name",
  description: "description",
  wakeMode: "wakeMode",
  sessionTarget: "what",
  "payload.kind": "what",
  "payload.text": "text",
  "payload.message": "message",
  "payload.model": "model",
  "payload.fallbacks": "fallbacks",
  "payload.tools": "tools",
  "payload.skills": "skills",
  "payload.useTools": "toolChoice",
  "payload.maxSteps": "maxSteps",
  "payload.maxTokens": "maxTokens",
  "payload.effort": "effort",
  "payload.contextPaths": "contextPaths",
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
  "policies.misfire.maxLatenessSeconds": "latest",
  "policies.misfire.limit": "misfireLimit",
  "policies.overlap": "overlap",
  "policies.maxConcurrent": "maxConcurrent",
  "policies.timeoutSeconds": "timeout",
  "policies.pauseAfterFailures": "pauseAfterFailures",
  "policies.cooldownSeconds": "cooldown",
  "policies.budget": "tokensPerRun",
  "policies.budget.tokensPerDay": "tokensPerDay",
  "policies.budget.usdPerRun": "usdPerRun",
  "policies.budget.usdPerDay": "usdPerDay",
  "policies.notify": "notify",
  "policies.quietHours": "quietHours",
  "policies.approvals": "approvals",
  "policies.approvalSeconds": "approvalTime",
  "policies.hosts": "hosts",
  "policies.folders": "folders",
  "policies.sandbox": "sandbox",
  "runtime.maxAttempts": "attempts",
  "runtime.retryBackoffMs": "backoffSeconds",
  deleteAfterRun: "deleteAfterRun",
};

/** Collapsed fields. */
export const advancedFields: readonly (keyof JobForm)[] = [
  "misfireLimit",
  "maxConcurrent",
  "cooldown",
  "backoffSeconds",
  "jitterSeconds",
];

/** Field of the longest known path prefix: `payload.tools[2]` → tools. */
export function fieldAt(path: string): keyof JobForm | undefined {
  for (let rest = path; rest !== ""; rest = rest.slice(0, Math.max(rest.lastIndexOf("."), rest.lastIndexOf("["), 0))) {
    const assignToFields = fieldByPath[rest];
    if (assignToFields !== undefined) return assignToFields;
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
