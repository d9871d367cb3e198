/* Flat form of a job, and the conversion from and to the job document. */

import { localZone } from "@/format/time";
import { wallTime } from "@/format/wall";
import type {
  Approvals,
  Effort,
  Job,
  JobDraft,
  MisfireMode,
  Notify,
  NotifyWhen,
  NotifyWord,
  Overlap,
  Payload,
  Policies,
  QuietHours,
  QuietPolicy,
  QuietWord,
  Sandbox,
  WakeMode,
  WrittenSchedule,
} from "@/platform";

import { type DaysAndTimes, parseDaysAndTimes } from "./daysAndTimes";
import { emptyEventForm, type EventForm, eventFormFrom, eventScheduleFrom } from "./eventForm";

export type TriggerKind = "at" | "every" | "days" | "cron" | "event" | "webhook" | "manual";
export type PayloadKind = Payload["kind"];
export type DurationUnit = "second" | "minute" | "hour" | "day";
/** Duration input; null is empty. */
export interface DurationInput {
  amount: number | null;
  unit: DurationUnit;
}
/** Notify-when policy, or a condition. */
export type NotifyWhenChoice = NotifyWord | "condition";
/** `custom` keeps the hours of an imported job, which are not editable. */
export type QuietHoursChoice = QuietWord | "custom";
export type ToolChoice = "all" | "some" | "none";

export interface JobForm extends EventForm {
  name: string;
  description: string;

  what: PayloadKind;
  text: string;
  wakeMode: WakeMode;
  message: string;
  model: string;
  /** Comma-separated. */
  fallbacks: string;
  toolChoice: ToolChoice;
  tools: string[];
  skills: string[];
  maxSteps: number | null;
  /** Per answer. */
  maxTokens: number | null;
  /** Empty: provider default. */
  effort: Effort | "";
  /** One path per line. */
  contextPaths: string;
  deliver: boolean;
  tool: string;
  arguments: Record<string, unknown>;
  notifyWhen: NotifyWhenChoice;
  /** CEL expression. */
  condition: string;

  approvals: Approvals;
  approvalTime: DurationInput;
  /** One per line. */
  hosts: string;
  folders: string;
  sandbox: Sandbox;

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

  misfire: MisfireMode;
  latest: DurationInput;
  misfireLimit: number | null;
  overlap: Overlap;
  maxConcurrent: number | null;
  timeout: DurationInput;
  /** Time limit in an imported payload; read-only. */
  payloadTimeoutSeconds: number | null;
  attempts: number | null;
  backoffSeconds: number | null;
  pauseAfterFailures: number | null;
  cooldown: DurationInput;
  tokensPerRun: number | null;
  tokensPerDay: number | null;
  usdPerRun: number | null;
  usdPerDay: number | null;
  notify: Notify;
  quietHours: QuietHoursChoice;
  customQuietHours: QuietHours | null;
  deleteAfterRun: boolean;
}

const noDuration: DurationInput = { amount: null, unit: "minute" };

export const unitMs: Record<DurationUnit, number> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** Default form; a one-time job defaults to the hour after next. */
export function emptyJobForm(now: number): JobForm {
  const zone = localZone();
  const soon = Math.ceil(now / unitMs.hour) * unitMs.hour + unitMs.hour;
  return {
    name: "",
    description: "",
    what: "systemEvent",
    text: "",
    wakeMode: "now",
    message: "",
    model: "",
    fallbacks: "",
    toolChoice: "all",
    tools: [],
    skills: [],
    maxSteps: null,
    maxTokens: null,
    effort: "",
    contextPaths: "",
    deliver: true,
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
    misfire: "runOnce",
    latest: noDuration,
    misfireLimit: null,
    overlap: "skip",
    maxConcurrent: null,
    timeout: noDuration,
    payloadTimeoutSeconds: null,
    attempts: null,
    backoffSeconds: null,
    pauseAfterFailures: null,
    cooldown: noDuration,
    tokensPerRun: null,
    tokensPerDay: null,
    usdPerRun: null,
    usdPerDay: null,
    notify: "findings",
    deleteAfterRun: false,
    ...emptyEventForm,
    approvals: "ask",
    approvalTime: noDuration,
    hosts: "",
    folders: "",
    sandbox: "required",
    quietHours: "respect",
    customQuietHours: null,
  };
}

export function jobFormFrom(job: Omit<JobDraft, "id">, now: number): JobForm {
  return {
    ...emptyJobForm(now),
    name: job.name,
    description: job.description ?? "",
    wakeMode: job.wakeMode ?? "now",
    deleteAfterRun: job.deleteAfterRun ?? false,
    ...scheduleFields(job.schedule),
    ...payloadFields(job.payload),
    ...policyFields(job),
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

/** Largest unit with a whole amount. */
function durationInput(ms: number): DurationInput {
  const unit = (["day", "hour", "minute"] as const).find((candidate) => ms % unitMs[candidate] === 0) ?? "second";
  return { amount: ms / unitMs[unit], unit };
}

/** Duration from seconds; 0 and none use minutes. */
function durationFromSeconds(seconds: number | undefined): DurationInput {
  return seconds === undefined
    ? noDuration
    : seconds === 0
      ? { ...noDuration, amount: 0 }
      : durationInput(seconds * unitMs.second);
}

/** Whole seconds. */
export function durationSeconds({ amount, unit }: DurationInput): number | null {
  return amount === null ? null : Math.round((amount * unitMs[unit]) / unitMs.second);
}

function payloadFields(payload: Payload): Partial<JobForm> {
  switch (payload.kind) {
    case "systemEvent":
      return { what: "systemEvent", text: payload.text };
    case "agentTurn":
      return {
        what: "agentTurn",
        message: payload.message,
        model: payload.model ?? "",
        fallbacks: (payload.fallbacks ?? []).join(", "),
        maxSteps: payload.maxSteps ?? null,
        maxTokens: payload.maxTokens ?? null,
        effort: payload.effort ?? "",
        contextPaths: (payload.contextPaths ?? []).join("\n"),
        toolChoice: payload.useTools === false ? "none" : payload.tools ? "some" : "all",
        tools: payload.tools ?? [],
        skills: payload.skills ?? [],
        deliver: payload.deliver ?? true,
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

function policyFields({ policies = {}, runtime = {} }: Pick<Job, "policies" | "runtime">): Partial<JobForm> {
  const { misfire = {}, budget = {} } = policies;
  return {
    misfire: misfire.mode ?? "runOnce",
    latest: durationFromSeconds(misfire.maxLatenessSeconds),
    misfireLimit: misfire.limit ?? null,
    overlap: policies.overlap ?? "skip",
    maxConcurrent: policies.maxConcurrent ?? null,
    timeout: durationFromSeconds(policies.timeoutSeconds),
    attempts: runtime.maxAttempts ?? null,
    backoffSeconds: scaleNumber(runtime.retryBackoffMs, 1_000),
    pauseAfterFailures: policies.pauseAfterFailures ?? null,
    cooldown: durationFromSeconds(policies.cooldownSeconds),
    tokensPerRun: budget.tokensPerRun ?? null,
    tokensPerDay: budget.tokensPerDay ?? null,
    usdPerRun: budget.usdPerRun ?? null,
    usdPerDay: budget.usdPerDay ?? null,
    notify: policies.notify ?? "findings",
    approvals: policies.approvals ?? "ask",
    approvalTime: durationFromSeconds(policies.approvalSeconds),
    hosts: (policies.hosts ?? []).join("\n"),
    folders: (policies.folders ?? []).join("\n"),
    sandbox: policies.sandbox ?? "required",
    ...quietHoursFields(policies.quietHours),
  };
}

/** Schedule of the form; undefined while incomplete. Wall times stay unresolved, because the engine's zone rules
    decide. */
export function scheduleFrom(
  form: Pick<
    JobForm,
    "when" | "zone" | "at" | "every" | "everyUnit" | "expr" | "days" | "jitterSeconds" | keyof EventForm
  >,
): WrittenSchedule | undefined {
  const jitter = optionalNumber("jitterMs", scaleNumber(form.jitterSeconds, 1 / 1_000));
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
        ...(form.model.trim() !== "" && { model: form.model.trim() }),
        ...nonEmptyList("fallbacks", splitList(form.fallbacks)),
        ...(form.toolChoice === "none" && { useTools: false }),
        ...(form.toolChoice === "some" && { tools: form.tools }),
        ...(form.skills.length > 0 && { skills: form.skills }),
        ...optionalNumber("maxSteps", form.maxSteps),
        ...optionalNumber("maxTokens", form.maxTokens),
        ...(form.effort !== "" && { effort: form.effort }),
        ...nonEmptyList("contextPaths", splitLines(form.contextPaths)),
        ...(!form.deliver && { deliver: false }),
      };
    case "toolCall":
      return {
        kind: "toolCall",
        tool: form.tool,
        arguments: form.arguments as Extract<Payload, { kind: "toolCall" }>["arguments"],
        ...(form.notifyWhen === "condition"
          ? { notifyWhen: { cel: form.condition.trim() } }
          : nonDefault("notifyWhen", form.notifyWhen, "always")),
      };
  }
}

function policiesFrom(form: JobForm): Policies {
  return {
    ...nonEmptyObject("misfire", {
      ...nonDefault("mode", form.misfire, "runOnce"),
      ...optionalNumber("maxLatenessSeconds", durationSeconds(form.latest)),
      ...optionalNumber("limit", form.misfireLimit),
    }),
    ...nonDefault("overlap", form.overlap, "skip"),
    ...optionalNumber("maxConcurrent", form.maxConcurrent),
    ...optionalNumber("timeoutSeconds", durationSeconds(form.timeout)),
    ...optionalNumber("pauseAfterFailures", form.pauseAfterFailures),
    ...optionalNumber("cooldownSeconds", durationSeconds(form.cooldown)),
    ...nonEmptyObject("budget", {
      ...optionalNumber("tokensPerRun", form.tokensPerRun),
      ...optionalNumber("tokensPerDay", form.tokensPerDay),
      ...optionalNumber("usdPerRun", form.usdPerRun),
      ...optionalNumber("usdPerDay", form.usdPerDay),
    }),
    ...nonDefault("notify", form.notify, "findings"),
    ...nonDefault("approvals", form.approvals, "ask"),
    ...optionalNumber("approvalSeconds", durationSeconds(form.approvalTime)),
    ...nonEmptyList("hosts", splitList(form.hosts)),
    ...nonEmptyList("folders", splitLines(form.folders)),
    ...nonDefault("sandbox", form.sandbox, "required"),
    ...(form.quietHours === "custom"
      ? form.customQuietHours && { quietHours: form.customQuietHours }
      : nonDefault("quietHours", form.quietHours, "respect")),
  };
}

/** Splits at white space and commas. */
function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function splitLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Job of the form, without default values. */
export function jobDraftFrom(form: JobForm): JobDraft {
  return {
    name: form.name.trim(),
    ...(form.description.trim() !== "" && { description: form.description.trim() }),
    schedule: scheduleFrom(form) ?? { kind: "manual" },
    sessionTarget: form.what === "systemEvent" ? "main" : "isolated",
    ...(form.what === "systemEvent" && nonDefault("wakeMode", form.wakeMode, "now")),
    payload: payloadFrom(form),
    ...nonEmptyObject("runtime", {
      ...optionalNumber("maxAttempts", form.attempts),
      ...optionalNumber("retryBackoffMs", scaleNumber(form.backoffSeconds, 1 / 1_000)),
    }),
    ...nonEmptyObject("policies", policiesFrom(form)),
    ...(form.deleteAfterRun && { deleteAfterRun: true }),
  };
}

function scaleNumber(value: number | null | undefined, by: number): number | null {
  return value === null || value === undefined ? null : Math.round((value / by) * 1_000) / 1_000;
}

function optionalNumber<K extends string>(key: K, value: number | null): Partial<Record<K, number>> {
  return value === null ? {} : ({ [key]: value } as Record<K, number>);
}

function nonDefault<K extends string, V extends string>(
  key: K,
  value: V,
  defaultValue: NoInfer<V>,
): Partial<Record<K, V>> {
  return value === defaultValue ? {} : ({ [key]: value } as Record<K, V>);
}

function nonEmptyList<K extends string>(key: K, list: string[]): Partial<Record<K, string[]>> {
  return list.length === 0 ? {} : ({ [key]: list } as Record<K, string[]>);
}

function nonEmptyObject<K extends string, V extends object>(key: K, value: V): Partial<Record<K, V>> {
  return Object.keys(value).length === 0 ? {} : ({ [key]: value } as Record<K, V>);
}
