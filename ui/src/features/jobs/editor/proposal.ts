/* Reads an agent's job proposal into a draft and form. Pitfall: never guess; an unreadable field stays empty with an
   error. One-time jobs use the instant that the engine computed and showed. */

import { isJsonObject } from "@/format/json";
import type { ApprovalView, JobDraft, Payload, WrittenSchedule } from "@/platform";

import { parseDuration } from "@/features/jobs/form/duration";
import { jobFormFrom, type JobForm, type TriggerKind } from "@/features/jobs/form/jobForm";

export interface JobProposal {
  draft: JobDraft;
  form: JobForm;
  /** Unreadable fields with their errors. */
  unread: readonly [keyof JobForm, string][];
}

type ProposedCall = Pick<ApprovalView, "arguments" | "firesOnceAtMs">;

export function readProposal({ arguments: proposed, firesOnceAtMs }: ProposedCall, now: number): JobProposal {
  const schedule = proposedSchedule(isJsonObject(proposed.schedule) ? proposed.schedule : {}, firesOnceAtMs);
  const draft: JobDraft = {
    name: text(proposed.name) ?? "",
    ...(text(proposed.description) !== undefined && { description: text(proposed.description) }),
    ...(proposed.enabled === false && { enabled: false }),
    schedule: "when" in schedule ? { kind: "manual" } : schedule,
    ...proposedPayload(proposed),
    ...(isNotify(proposed.notify) && { policies: { notify: proposed.notify } }),
    messageBy: { kind: "agent" },
  };
  const form = jobFormFrom(draft, now);
  if (!("when" in schedule)) return { draft, form, unread: [] };
  return { draft, form: { ...form, ...schedule }, unread: [unreadField(schedule.when)] };
}

/** Empty fields of an unreadable schedule. */
type UnreadSchedule = Partial<JobForm> & { when: TriggerKind };

function unreadField(when: TriggerKind): [keyof JobForm, string] {
  if (when === "every") return ["every", "Could not read the proposed interval. Set one."];
  if (when === "cron") return ["expr", "Could not read the proposed cron expression. Enter one."];
  return ["at", "Could not read the proposed time. Choose a date and time, or another kind above."];
}

function proposedSchedule(
  { kind, every, expr, tz, source, pattern, filters }: Record<string, unknown>,
  firesOnceAtMs: number | null,
): WrittenSchedule | UnreadSchedule {
  const zone = text(tz) === undefined ? {} : { tz: text(tz) };
  switch (kind) {
    case "at":
      return firesOnceAtMs === null
        ? { when: "at", at: "", ...(zone.tz !== undefined && { zone: zone.tz }) }
        : { kind, atMs: firesOnceAtMs, ...zone };
    case "every": {
      const everyMs = parseDuration(text(every) ?? "");
      return everyMs === undefined ? { when: "every", every: null } : { kind, everyMs };
    }
    case "cron":
      return text(expr) === undefined ? { when: "cron", expr: "" } : { kind, expr: text(expr) ?? "", ...zone };
    case "event":
      return Object.fromEntries(
        Object.entries({ kind, source, pattern, filters }).filter(([, value]) => value !== undefined),
      ) as WrittenSchedule;
    case "manual":
      return { kind };
    default:
      return { when: "at", at: "" };
  }
}

function proposedPayload({
  message,
  reminder,
  call,
  use_tools: useTools,
  tools,
}: Record<string, unknown>): Pick<JobDraft, "payload" | "sessionTarget" | "wakeMode"> {
  if (typeof message === "string") {
    const chosen = Array.isArray(tools) && { tools: tools.filter((tool) => typeof tool === "string") };
    return {
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message, ...(typeof useTools === "boolean" && { useTools }), ...chosen },
    };
  }
  if (!isJsonObject(call) || typeof call.tool !== "string")
    return { sessionTarget: "main", wakeMode: "now", payload: { kind: "systemEvent", text: text(reminder) ?? "" } };
  const given = isJsonObject(call.arguments) ? call.arguments : {};
  return {
    sessionTarget: "isolated",
    payload: {
      kind: "toolCall",
      tool: call.tool,
      arguments: given,
      ...(text(call.notifyWhen) !== undefined && { notifyWhen: call.notifyWhen }),
    } as Payload,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isNotify(value: unknown): value is "always" | "findings" | "failure" | "never" {
  return ["always", "findings", "failure", "never"].includes(value as string);
}
