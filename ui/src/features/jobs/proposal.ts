/* A job that a model proposes in the chat, as the draft and the form that the editor opens with. What the form does not show
   of it stays as it was proposed. One could get it wrong by guessing where something cannot be read: the job would then fire
   at another time than the one that the person was shown. Such a field is empty and says so, and nothing is saved before it
   is filled in. The time of a job that fires once is the instant that the engine has worked out and shown; it is not read
   here again. */

import { isPlain } from "@/format/json";
import type { ApprovalView, JobDraft, Payload, Schedule } from "@/platform";

import { durationOf } from "./duration";
import { formOf, type JobForm, type When } from "./form";

export interface Proposal {
  draft: JobDraft;
  form: JobForm;
  /** Fields that could not be read, with what to do about it. */
  unread: readonly [keyof JobForm, string][];
}

type Asked = Pick<ApprovalView, "arguments" | "firesOnceAtMs">;

export function proposalOf({ arguments: proposed, firesOnceAtMs }: Asked, now: number): Proposal {
  const schedule = scheduleOf(isPlain(proposed.schedule) ? proposed.schedule : {}, firesOnceAtMs);
  const draft: JobDraft = {
    name: text(proposed.name) ?? "",
    ...(text(proposed.description) !== undefined && { description: text(proposed.description) }),
    ...(proposed.enabled === false && { enabled: false }),
    schedule: "when" in schedule ? { kind: "manual" } : schedule,
    ...payloadOf(proposed),
    ...(isNotify(proposed.notify) && { policies: { notify: proposed.notify } }),
    messageBy: { kind: "agent" },
  };
  const form = formOf(draft, now);
  if (!("when" in schedule)) return { draft, form, unread: [] };
  return { draft, form: { ...form, ...schedule }, unread: [unreadOf(schedule.when)] };
}

/** The fields of a schedule that could not be read: empty, under the kind that was proposed. */
type Empty = Partial<JobForm> & { when: When };

function unreadOf(when: When): [keyof JobForm, string] {
  if (when === "every") return ["every", "The proposed interval could not be read. Say how often."];
  if (when === "cron") return ["expr", "The proposed pattern could not be read. Write it."];
  return ["at", "The proposed time could not be read. Choose a day and a time, or another way above."];
}

function scheduleOf({ kind, every, expr, tz, source, pattern, filters }: Record<string, unknown>, firesOnceAtMs: number | null): Schedule | Empty {
  const zone = text(tz) === undefined ? {} : { tz: text(tz) };
  switch (kind) {
    case "at":
      return firesOnceAtMs === null ? { when: "at", at: "", ...(zone.tz !== undefined && { zone: zone.tz }) } : { kind, atMs: firesOnceAtMs, ...zone };
    case "every": {
      const everyMs = durationOf(text(every) ?? "");
      return everyMs === undefined ? { when: "every", every: null } : { kind, everyMs };
    }
    case "cron":
      return text(expr) === undefined ? { when: "cron", expr: "" } : { kind, expr: text(expr) ?? "", ...zone };
    case "event":
      return Object.fromEntries(Object.entries({ kind, source, pattern, filters }).filter(([, value]) => value !== undefined)) as Schedule;
    case "manual":
      return { kind };
    default:
      return { when: "at", at: "" };
  }
}

function payloadOf({ message, reminder, call, use_tools: useTools, tools }: Record<string, unknown>): Pick<JobDraft, "payload" | "sessionTarget" | "wakeMode"> {
  if (typeof message === "string") {
    const chosen = Array.isArray(tools) && { tools: tools.filter((tool) => typeof tool === "string") };
    return { sessionTarget: "isolated", payload: { kind: "agentTurn", message, ...(typeof useTools === "boolean" && { useTools }), ...chosen } };
  }
  if (!isPlain(call) || typeof call.tool !== "string") return { sessionTarget: "main", wakeMode: "now", payload: { kind: "systemEvent", text: text(reminder) ?? "" } };
  const given = isPlain(call.arguments) ? call.arguments : {};
  return {
    sessionTarget: "isolated",
    payload: { kind: "toolCall", tool: call.tool, arguments: given, ...(text(call.notifyWhen) !== undefined && { notifyWhen: call.notifyWhen }) } as Payload,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isNotify(value: unknown): value is "always" | "findings" | "failure" | "never" {
  return ["always", "findings", "failure", "never"].includes(value as string);
}
