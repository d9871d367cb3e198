/* Which field of the form a complaint of the engine belongs to, and how it reads there. The engine's judgement is the one
   that counts; what it names and the form does not show is said above the form. */

import { ended } from "@/format/text";

import type { JobForm } from "./form";

export interface Complaint {
  path: string;
  message: string;
}

const places: Record<string, keyof JobForm> = {
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
  "policies.quietHours": "quiet",
  "policies.quietHours.from": "quietFrom",
  "policies.quietHours.to": "quietTo",
  "policies.quietHours.days": "quietDays",
  "policies.quietHours.tz": "quietZone",
  "policies.approvals": "approvals",
  "policies.approvalSeconds": "approvalTime",
  "policies.hosts": "hosts",
  "policies.folders": "folders",
  "policies.sandbox": "sandbox",
  "runtime.maxAttempts": "attempts",
  "runtime.retryBackoffMs": "backoffSeconds",
  deleteAfterRun: "deleteAfterRun",
};

/** Fields that are folded away unless asked for. */
export const advanced: readonly (keyof JobForm)[] = ["misfireLimit", "maxConcurrent", "cooldown", "backoffSeconds", "jitterSeconds"];

/** The field of the longest known beginning of a path: `payload.tools[2]` belongs to the tools. */
export function placeOf(path: string): keyof JobForm | undefined {
  for (let rest = path; rest !== ""; rest = rest.slice(0, Math.max(rest.lastIndexOf("."), rest.lastIndexOf("["), 0))) {
    const place = places[rest];
    if (place !== undefined) return place;
  }
  return undefined;
}

/** Complaints beside their fields, and those that have none. The first about a field is the one shown; of a list, that about
    each of its entries. */
export function place(complaints: readonly Complaint[]): { placed: Map<keyof JobForm, string>; others: Complaint[] } {
  const placed = new Map<keyof JobForm, string>();
  const others: Complaint[] = [];
  for (const complaint of complaints) {
    const field = placeOf(complaint.path);
    if (field === undefined) others.push(complaint);
    else if (!placed.has(field)) placed.set(field, sentence(complaint.message));
    else if (complaint.path.endsWith("]")) placed.set(field, `${placed.get(field)} ${sentence(complaint.message)}`);
  }
  return { placed, others };
}

/** The engine's words as a sentence: `is required` → `This is required.` */
export function sentence(message: string): string {
  const text = /^(is|must|needs|has) /.test(message) ? `this ${message}` : message;
  return ended(text.charAt(0).toLocaleUpperCase() + text.slice(1));
}
