/* Flat form of a job, and the conversion from and to the job document. Simple fields are in fieldTable.ts. */

import { localZone } from "@/format/time";
import { wallTime } from "@/format/wall";
import type {
  AgentTurn,
  Job,
  JobDraft,
  NotifyWhen,
  NotifyWord,
  Payload,
  QuietHours,
  QuietPolicy,
  QuietWord,
  WakeMode,
  WrittenSchedule,
} from "@/platform";

import { type DaysAndTimes, parseDaysAndTimes } from "./daysAndTimes";
import { emptyEventForm, type EventForm, eventFormFrom, eventScheduleFrom } from "./eventForm";
import { durationInput, type DurationUnit, scaleNumber, unitMs } from "./fieldCodecs";
import {
  agentFields,
  codingAgentFields,
  type FieldTable,
  type FieldValues,
  jobFields,
  modelFields,
  readFields,
  writeFields,
} from "./fieldTable";

export type TriggerKind = "at" | "every" | "days" | "cron" | "event" | "webhook" | "manual";
export type PayloadKind = Payload["kind"];
/** Notify-when policy, or a condition. */
export type NotifyWhenChoice = NotifyWord | "condition";
/** `custom` keeps the hours of an imported job, which are not editable. */
export type QuietHoursChoice = QuietWord | "custom";
export type ToolChoice = "all" | "some" | "none";

export interface JobForm
  extends
    FieldValues<typeof jobFields>,
    FieldValues<typeof agentFields>,
    FieldValues<typeof codingAgentFields>,
    FieldValues<typeof modelFields>,
    EventForm {
  name: string;

  what: PayloadKind;
  text: string;
  wakeMode: WakeMode;
  message: string;
  toolChoice: ToolChoice;
  tools: string[];
  /** Time limit in an imported payload; read-only. */
  payloadTimeoutSeconds: number | null;
  tool: string;
  arguments: Record<string, unknown>;
  notifyWhen: NotifyWhenChoice;
  /** CEL expression. */
  condition: string;

  when: TriggerKind;
  zone: string;
  /** Wall time in `zone`. */
  at: string;
  every: number | null;
  everyUnit: DurationUnit;
  /** Cron expression of `days` and `cron`. */
  expr: string;
  /** Days and times without a valid expression; null otherwise. */
  days: DaysAndTimes | null;
  jitterSeconds: number | null;

  quietHours: QuietHoursChoice;
  customQuietHours: QuietHours | null;
}

/** Default form; a one-time job defaults to the hour after next. */
export function emptyJobForm(now: number): JobForm {
  const zone = localZone();
  const soon = Math.ceil(now / unitMs.hour) * unitMs.hour + unitMs.hour;
  return {
    ...readFields(jobFields, {}),
    ...readFields(agentFields, {}),
    ...readFields(codingAgentFields, {}),
    ...readFields(modelFields, {}),
    ...emptyEventForm,
    name: "",
    what: "systemEvent",
    text: "",
    wakeMode: "now",
    message: "",
    toolChoice: "all",
    tools: [],
    payloadTimeoutSeconds: null,
    tool: "",
    arguments: {},
    notifyWhen: "always",
    condition: "",
    when: "days",
    zone,
    at: wallTime(soon, zone),
    every: 30,
    everyUnit: "minute",
    expr: "0 9 * * 1-5",
    days: null,
    jitterSeconds: null,
    quietHours: "respect",
    customQuietHours: null,
  };
}

export function jobFormFrom(job: Omit<JobDraft, "id">, now: number): JobForm {
  return {
    ...emptyJobForm(now),
    name: job.name,
    wakeMode: job.wakeMode ?? "now",
    ...scheduleFields(job.schedule),
    ...payloadFields(job),
    ...readFields(jobFields, job),
    ...quietHoursFields(job.policies?.quietHours),
  };
}

function scheduleFields(schedule: WrittenSchedule): Partial<JobForm> {
  const jitterSeconds = "jitterMs" in schedule && schedule.jitterMs !== undefined ? schedule.jitterMs / 1_000 : null;
  switch (schedule.kind) {
    case "at": {
      const zone = schedule.tz ?? localZone();
      return { when: "at", zone, at: "at" in schedule ? schedule.at : wallTime(schedule.atMs, zone), jitterSeconds };
    }
    case "every":
      return { when: "every", ...intervalFields(schedule.everyMs), jitterSeconds };
    case "cron":
      return {
        when: parseDaysAndTimes(schedule.expr) ? "days" : "cron",
        expr: schedule.expr,
        zone: schedule.tz ?? localZone(),
        jitterSeconds,
      };
    case "event":
      return { when: "event", ...eventFormFrom(schedule) };
    case "webhook":
    case "manual":
      return { when: schedule.kind };
  }
}

function intervalFields(ms: number): Pick<JobForm, "every" | "everyUnit"> {
  const { amount, unit } = durationInput(ms);
  return { every: amount, everyUnit: unit };
}

function payloadFields(job: Pick<Job, "payload">): Partial<JobForm> {
  const { payload } = job;
  switch (payload.kind) {
    case "systemEvent":
      return { what: "systemEvent", text: payload.text };
    case "agentTurn":
      return {
        ...readFields(agentFields, job),
        ...readFields(codingAgentFields, job),
        ...readFields(modelFields, job),
        what: "agentTurn",
        message: payload.message,
        toolChoice: payload.useTools === false ? "none" : payload.tools ? "some" : "all",
        tools: payload.tools ?? [],
        payloadTimeoutSeconds: payload.timeoutSeconds ?? null,
      };
    case "toolCall":
      return {
        what: "toolCall",
        tool: payload.tool,
        arguments: payload.arguments,
        ...notifyWhenFields(payload.notifyWhen),
      };
  }
}

function notifyWhenFields(when: NotifyWhen = "always"): Pick<JobForm, "notifyWhen" | "condition"> {
  return typeof when === "string"
    ? { notifyWhen: when, condition: "" }
    : { notifyWhen: "condition", condition: when.cel };
}

function quietHoursFields(quiet: QuietPolicy = "respect"): Pick<JobForm, "quietHours" | "customQuietHours"> {
  return typeof quiet === "string"
    ? { quietHours: quiet, customQuietHours: null }
    : { quietHours: "custom", customQuietHours: quiet };
}

/** Schedule of the form; undefined while incomplete. Wall times stay unresolved, because the engine's zone rules
    decide. */
export function scheduleFrom(
  form: Pick<
    JobForm,
    "when" | "zone" | "at" | "every" | "everyUnit" | "expr" | "days" | "jitterSeconds" | keyof EventForm
  >,
): WrittenSchedule | undefined {
  const jitterMs = scaleNumber(form.jitterSeconds, 1 / 1_000);
  const jitter = jitterMs === null ? {} : { jitterMs };
  switch (form.when) {
    case "at":
      return form.at === "" ? undefined : { kind: "at", at: form.at, tz: form.zone, ...jitter };
    case "every":
      return form.every === null
        ? undefined
        : { kind: "every", everyMs: Math.round(form.every * unitMs[form.everyUnit]), ...jitter };
    case "days":
    case "cron":
      return form.expr.trim() === "" || (form.when === "days" && form.days !== null)
        ? undefined
        : { kind: "cron", expr: form.expr.trim(), tz: form.zone, ...jitter };
    case "event":
      return eventScheduleFrom(form);
    case "webhook":
    case "manual":
      return { kind: form.when };
  }
}

/** True if the trigger has scheduled slots. */
export function hasSlots(when: TriggerKind): boolean {
  return when !== "event" && when !== "webhook" && when !== "manual";
}

function payloadFrom(form: JobForm): Payload {
  switch (form.what) {
    case "systemEvent":
      return { kind: "systemEvent", text: form.text };
    case "agentTurn":
      return {
        kind: "agentTurn",
        message: form.message,
        ...(form.agent === "" ? modelPart(form) : payloadPart(codingAgentFields, form)),
        ...payloadPart(agentFields, form),
      };
    case "toolCall":
      return {
        kind: "toolCall",
        tool: form.tool,
        arguments: form.arguments as Extract<Payload, { kind: "toolCall" }>["arguments"],
        ...notifyWhenFrom(form),
      };
  }
}

/** The parts of an agent turn that a model needs. */
function modelPart(form: JobForm): Partial<AgentTurn> {
  return {
    ...(form.toolChoice === "none" && { useTools: false }),
    ...(form.toolChoice === "some" && { tools: form.tools }),
    ...payloadPart(modelFields, form),
  };
}

function payloadPart<Table extends FieldTable>(table: Table, form: FieldValues<Table>): Partial<AgentTurn> {
  return writeFields(table, form).payload as Partial<AgentTurn>;
}

function notifyWhenFrom({ notifyWhen, condition }: JobForm): { notifyWhen?: NotifyWhen } {
  if (notifyWhen === "condition") return { notifyWhen: { cel: condition.trim() } };
  return notifyWhen === "always" ? {} : { notifyWhen };
}

function quietHoursFrom({ quietHours, customQuietHours }: JobForm): { quietHours?: QuietPolicy } {
  if (quietHours === "custom") return customQuietHours ? { quietHours: customQuietHours } : {};
  return quietHours === "respect" ? {} : { quietHours };
}

/** Job of the form, without default values. */
export function jobDraftFrom(form: JobForm): JobDraft {
  const { policies, ...fields } = writeFields(jobFields, form) as Partial<JobDraft>;
  const allPolicies = { ...policies, ...quietHoursFrom(form) };
  return {
    ...fields,
    name: form.name.trim(),
    schedule: scheduleFrom(form) ?? { kind: "manual" },
    sessionTarget: form.what === "systemEvent" ? "main" : "isolated",
    ...(form.what === "systemEvent" && form.wakeMode !== "now" && { wakeMode: form.wakeMode }),
    payload: payloadFrom(form),
    ...(Object.keys(allPolicies).length > 0 && { policies: allPolicies }),
  };
}
