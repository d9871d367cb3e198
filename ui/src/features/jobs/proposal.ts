/* A job that a model proposes in the chat, as the form that it opens in. What cannot be read is left as a new job has it: the
   form shows everything that will be saved, and the engine judges it as it judges any other. */

import { isPlain } from "@/format/json";
import { instantOf } from "@/format/wall";
import { localZone } from "@/format/time";
import type { JobDraft, Payload, Schedule } from "@/platform";

import { emptyForm, formOf, type JobForm } from "./form";

export function formOfProposal(proposed: Record<string, unknown>, now: number): JobForm {
  const empty = emptyForm(now);
  const schedule = scheduleOf(isPlain(proposed.schedule) ? proposed.schedule : {}, now);
  const payload = payloadOf(proposed);
  const draft: JobDraft = {
    name: text(proposed.name) ?? "", schedule: schedule ?? { kind: "manual" }, payload: payload ?? { kind: "systemEvent", text: "" },
    ...(text(proposed.description) !== undefined && { description: text(proposed.description) }),
    ...(isNotify(proposed.notify) && { policies: { notify: proposed.notify } }),
  };
  const form = formOf(draft, now);
  return schedule ? form : { ...form, when: empty.when, expr: empty.expr };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isNotify(value: unknown): value is "always" | "findings" | "failure" | "never" {
  return ["always", "findings", "failure", "never"].includes(value as string);
}

function scheduleOf({ kind, at, every, expr, tz, ...event }: Record<string, unknown>, now: number): Schedule | undefined {
  const zone = text(tz) ?? localZone();
  switch (kind) {
    case "at": {
      const wait = durationOf(at);
      const atMs = wait === undefined ? instantOf(text(at) ?? "", zone) : now + wait;
      return atMs === undefined ? undefined : { kind, atMs, tz: zone };
    }
    case "every": {
      const everyMs = durationOf(every);
      return everyMs === undefined ? undefined : { kind, everyMs };
    }
    case "cron":
      return text(expr) === undefined ? undefined : { kind, expr: text(expr) ?? "", tz: zone };
    case "event":
      return { kind, ...event } as Schedule;
    case "manual":
      return { kind };
    default:
      return undefined;
  }
}

function payloadOf({ message, reminder, call, use_tools: useTools, tools }: Record<string, unknown>): Payload | undefined {
  if (typeof message === "string") {
    return { kind: "agentTurn", message, ...(useTools === false && { useTools: false }), ...(Array.isArray(tools) && { tools: tools.filter((tool) => typeof tool === "string") }) };
  }
  if (typeof reminder === "string") return { kind: "systemEvent", text: reminder };
  if (!isPlain(call) || typeof call.tool !== "string") return undefined;
  return { kind: "toolCall", tool: call.tool, arguments: (isPlain(call.arguments) ? call.arguments : {}) as Extract<Payload, { kind: "toolCall" }>["arguments"] };
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `1h30m`, `20 min`; undefined for anything else, such as a time of day. */
export function durationOf(value: unknown): number | undefined {
  const written = text(value)?.trim().toLowerCase() ?? "";
  const part = /(\d+(?:\.\d+)?)\s*(s|m|h|d|w)[a-z]*\s*/y;
  let sum = 0;
  while (part.lastIndex < written.length) {
    const found = part.exec(written);
    if (!found) return undefined;
    sum += Number(found[1]) * (unitMs[found[2] ?? ""] ?? 0);
  }
  return sum > 0 ? sum : undefined;
}
