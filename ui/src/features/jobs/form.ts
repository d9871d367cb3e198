/* The form of a job: what a person sees of the job format, flat and always whole. `formOf` and `draftOf` translate; what
   changed is the difference between two drafts, so that everything the form does not show stays as the job has it. One
   could get it wrong by sending the whole form: keys of other programs, an anchor or the seconds of a time would be lost. */

import { signatureOn } from "@/domain/createdBy";
import { type Plain, same } from "@/format/json";
import { localZone } from "@/format/time";
import { wallOf } from "@/format/wall";
import type { Approvals, Effort, Job, JobDraft, MisfireMode, Notify, NotifyWhen, NotifyWord, Overlap, Payload, Policies, QuietHours, QuietPolicy, QuietWord, Sandbox, WakeMode, WrittenSchedule } from "@/platform";

import { type DaysAndTimes, daysOf } from "./cron";
import { emptyEvent, type EventForm, eventForm, eventOf } from "./events";
import { laidOver, mergePatch } from "./patch";

export type When = "at" | "every" | "days" | "cron" | "event" | "webhook" | "manual";
export type What = Payload["kind"];
export type Unit = "second" | "minute" | "hour" | "day";
/** A length of time as it is written down, or left out. */
export interface Length {
  amount: number | null;
  unit: Unit;
}
/** A word of the job format, or a condition. */
export type TellWhen = NotifyWord | "condition";
export type QuietChoice = QuietWord | "own";
export type ToolChoice = "all" | "some" | "none";

export interface JobForm extends EventForm {
  name: string;
  description: string;

  what: What;
  text: string;
  wakeMode: WakeMode;
  message: string;
  model: string;
  /** As written: with commas. */
  fallbacks: string;
  toolChoice: ToolChoice;
  tools: string[];
  /** Names of skills. */
  skills: string[];
  maxSteps: number | null;
  /** Of one answer of the model. */
  maxTokens: number | null;
  /** Empty: the provider’s setting. */
  effort: Effort | "";
  /** Files that each run is given to read. One a line: a path may have blanks. */
  contextPaths: string;
  deliver: boolean;
  tool: string;
  arguments: Record<string, unknown>;
  notifyWhen: TellWhen;
  /** The expression of `notifyWhen: condition`. */
  condition: string;

  approvals: Approvals;
  approvalTime: Length;
  /** One a line. */
  hosts: string;
  folders: string;
  sandbox: Sandbox;

  when: When;
  zone: string;
  /** What the clock shows in `zone`. */
  at: string;
  every: number | null;
  everyUnit: Unit;
  /** The pattern of both `days` and `cron`. */
  expr: string;
  /** Days and times that no pattern holds yet; otherwise they are read from the pattern. */
  days: DaysAndTimes | null;
  jitterSeconds: number | null;

  misfire: MisfireMode;
  latest: Length;
  misfireLimit: number | null;
  overlap: Overlap;
  maxConcurrent: number | null;
  timeout: Length;
  /** The limit that an imported task brought along: in force while no other is set. It is shown, never written. */
  payloadTimeoutSeconds: number | null;
  attempts: number | null;
  backoffSeconds: number | null;
  pauseAfterFailures: number | null;
  cooldown: Length;
  tokensPerRun: number | null;
  tokensPerDay: number | null;
  usdPerRun: number | null;
  usdPerDay: number | null;
  notify: Notify;
  quiet: QuietChoice;
  quietFrom: string;
  quietTo: string;
  /** The nights that begin on these days; every night when there are none. */
  quietDays: string[];
  /** Empty: the zone of the computer. */
  quietZone: string;
  deleteAfterRun: boolean;
}

const noLength: Length = { amount: null, unit: "minute" };

export const unitMs: Record<Unit, number> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** A form in which nothing has been said yet; a one-time job is suggested for the next full hour but one. */
export function emptyForm(now: number): JobForm {
  const zone = localZone();
  const soon = Math.ceil(now / unitMs.hour) * unitMs.hour + unitMs.hour;
  return {
    name: "", description: "",
    what: "systemEvent", text: "", wakeMode: "now",
    message: "", model: "", fallbacks: "", toolChoice: "all", tools: [], skills: [], maxSteps: null, maxTokens: null, effort: "", contextPaths: "", deliver: true,
    tool: "", arguments: {}, notifyWhen: "always", condition: "",
    when: "days", zone, at: wallOf(soon, zone), every: 30, everyUnit: "minute", expr: "0 9 * * 1-5", days: null, jitterSeconds: null,
    misfire: "runOnce", latest: noLength, misfireLimit: null, overlap: "skip", maxConcurrent: null, timeout: noLength, payloadTimeoutSeconds: null,
    attempts: null, backoffSeconds: null, pauseAfterFailures: null, cooldown: noLength, tokensPerRun: null, tokensPerDay: null, usdPerRun: null, usdPerDay: null, notify: "findings", deleteAfterRun: false,
    ...emptyEvent,
    approvals: "ask", approvalTime: noLength, hosts: "", folders: "", sandbox: "required",
    quiet: "respect", quietFrom: "22:00", quietTo: "07:00", quietDays: [], quietZone: "",
  };
}

export function formOf(job: Omit<JobDraft, "id">, now: number): JobForm {
  return {
    ...emptyForm(now),
    name: job.name,
    description: job.description ?? "",
    wakeMode: job.wakeMode ?? "now",
    deleteAfterRun: job.deleteAfterRun ?? false,
    ...scheduleForm(job.schedule),
    ...payloadForm(job.payload),
    ...policiesForm(job),
  };
}

function scheduleForm(schedule: WrittenSchedule): Partial<JobForm> {
  const jitterSeconds = "jitterMs" in schedule && schedule.jitterMs !== undefined ? schedule.jitterMs / 1_000 : null;
  switch (schedule.kind) {
    case "at": {
      const zone = schedule.tz ?? localZone();
      return { when: "at", zone, at: "at" in schedule ? schedule.at : wallOf(schedule.atMs, zone), jitterSeconds };
    }
    case "every":
      return { when: "every", ...everyForm(schedule.everyMs), jitterSeconds };
    case "cron":
      return { when: daysOf(schedule.expr) ? "days" : "cron", expr: schedule.expr, zone: schedule.tz ?? localZone(), jitterSeconds };
    case "event":
      return { when: "event", ...eventForm(schedule) };
    case "webhook":
    case "manual":
      return { when: schedule.kind };
  }
}

function everyForm(ms: number): Pick<JobForm, "every" | "everyUnit"> {
  const { amount, unit } = inUnits(ms);
  return { every: amount, everyUnit: unit };
}

/** In the largest unit in which it is a whole number. */
function inUnits(ms: number): Length {
  const unit = (["day", "hour", "minute"] as const).find((candidate) => ms % unitMs[candidate] === 0) ?? "second";
  return { amount: ms / unitMs[unit], unit };
}

/** A length that the engine counts in seconds. None at all, 0 among them, is written down in minutes. */
function lengthOf(seconds: number | undefined): Length {
  return seconds === undefined ? noLength : seconds === 0 ? { ...noLength, amount: 0 } : inUnits(seconds * unitMs.second);
}

/** Whole ones, which is all that the engine takes. */
export function secondsOf({ amount, unit }: Length): number | null {
  return amount === null ? null : Math.round((amount * unitMs[unit]) / unitMs.second);
}

function payloadForm(payload: Payload): Partial<JobForm> {
  switch (payload.kind) {
    case "systemEvent":
      return { what: "systemEvent", text: payload.text };
    case "agentTurn":
      return {
        what: "agentTurn", message: payload.message, model: payload.model ?? "", fallbacks: (payload.fallbacks ?? []).join(", "), maxSteps: payload.maxSteps ?? null,
        maxTokens: payload.maxTokens ?? null, effort: payload.effort ?? "", contextPaths: (payload.contextPaths ?? []).join("\n"),
        toolChoice: payload.useTools === false ? "none" : payload.tools ? "some" : "all", tools: payload.tools ?? [], skills: payload.skills ?? [],
        deliver: payload.deliver ?? true, payloadTimeoutSeconds: payload.timeoutSeconds ?? null,
      };
    case "toolCall":
      return { what: "toolCall", tool: payload.tool, arguments: payload.arguments, ...tellForm(payload.notifyWhen) };
  }
}

function tellForm(when: NotifyWhen = "always"): Pick<JobForm, "notifyWhen" | "condition"> {
  return typeof when === "string" ? { notifyWhen: when, condition: "" } : { notifyWhen: "condition", condition: when.cel };
}

function quietForm(quiet: QuietPolicy = "respect"): Partial<JobForm> {
  return typeof quiet === "string" ? { quiet } : { quiet: "own", quietFrom: quiet.from, quietTo: quiet.to, quietDays: quiet.days ?? [], quietZone: quiet.tz ?? "" };
}

function policiesForm({ policies = {}, runtime = {} }: Pick<Job, "policies" | "runtime">): Partial<JobForm> {
  const { misfire = {}, budget = {} } = policies;
  return {
    misfire: misfire.mode ?? "runOnce",
    latest: lengthOf(misfire.maxLatenessSeconds),
    misfireLimit: misfire.limit ?? null,
    overlap: policies.overlap ?? "skip",
    maxConcurrent: policies.maxConcurrent ?? null,
    timeout: lengthOf(policies.timeoutSeconds),
    attempts: runtime.maxAttempts ?? null,
    backoffSeconds: scaled(runtime.retryBackoffMs, 1_000),
    pauseAfterFailures: policies.pauseAfterFailures ?? null,
    cooldown: lengthOf(policies.cooldownSeconds),
    tokensPerRun: budget.tokensPerRun ?? null,
    tokensPerDay: budget.tokensPerDay ?? null,
    usdPerRun: budget.usdPerRun ?? null,
    usdPerDay: budget.usdPerDay ?? null,
    notify: policies.notify ?? "findings",
    approvals: policies.approvals ?? "ask",
    approvalTime: lengthOf(policies.approvalSeconds),
    hosts: (policies.hosts ?? []).join("\n"),
    folders: (policies.folders ?? []).join("\n"),
    sandbox: policies.sandbox ?? "required",
    ...quietForm(policies.quietHours),
  };
}

/** The schedule as it stands; undefined while it is not whole. A time stays what the clock shows: which instant that is, the
    engine knows, by its own rules of the zone. */
export function scheduleOf(form: Pick<JobForm, "when" | "zone" | "at" | "every" | "everyUnit" | "expr" | "days" | "jitterSeconds" | keyof EventForm>): WrittenSchedule | undefined {
  const jitter = given("jitterMs", scaled(form.jitterSeconds, 1 / 1_000));
  switch (form.when) {
    case "at":
      return form.at === "" ? undefined : { kind: "at", at: form.at, tz: form.zone, ...jitter };
    case "every":
      return form.every === null ? undefined : { kind: "every", everyMs: Math.round(form.every * unitMs[form.everyUnit]), ...jitter };
    case "days":
    case "cron":
      return form.expr.trim() === "" || (form.when === "days" && form.days !== null) ? undefined : { kind: "cron", expr: form.expr.trim(), tz: form.zone, ...jitter };
    case "event":
      return eventOf(form);
    case "webhook":
    case "manual":
      return { kind: form.when };
  }
}

function payloadOf(form: JobForm): Payload {
  switch (form.what) {
    case "systemEvent":
      return { kind: "systemEvent", text: form.text };
    case "agentTurn":
      return {
        kind: "agentTurn", message: form.message,
        ...(form.model.trim() !== "" && { model: form.model.trim() }),
        ...some("fallbacks", listOf(form.fallbacks)),
        ...(form.toolChoice === "none" && { useTools: false }),
        ...(form.toolChoice === "some" && { tools: form.tools }),
        ...(form.skills.length > 0 && { skills: form.skills }),
        ...given("maxSteps", form.maxSteps),
        ...given("maxTokens", form.maxTokens),
        ...(form.effort !== "" && { effort: form.effort }),
        ...some("contextPaths", linesOf(form.contextPaths)),
        ...(!form.deliver && { deliver: false }),
      };
    case "toolCall":
      return {
        kind: "toolCall", tool: form.tool, arguments: form.arguments as Extract<Payload, { kind: "toolCall" }>["arguments"],
        ...(form.notifyWhen === "condition" ? { notifyWhen: { cel: form.condition.trim() } } : unless("notifyWhen", form.notifyWhen, "always")),
      };
  }
}

function policiesOf(form: JobForm): Policies {
  return {
    ...part("misfire", {
      ...unless("mode", form.misfire, "runOnce"),
      ...given("maxLatenessSeconds", secondsOf(form.latest)),
      ...given("limit", form.misfireLimit),
    }),
    ...unless("overlap", form.overlap, "skip"),
    ...given("maxConcurrent", form.maxConcurrent),
    ...given("timeoutSeconds", secondsOf(form.timeout)),
    ...given("pauseAfterFailures", form.pauseAfterFailures),
    ...given("cooldownSeconds", secondsOf(form.cooldown)),
    ...part("budget", {
      ...given("tokensPerRun", form.tokensPerRun),
      ...given("tokensPerDay", form.tokensPerDay),
      ...given("usdPerRun", form.usdPerRun),
      ...given("usdPerDay", form.usdPerDay),
    }),
    ...unless("notify", form.notify, "findings"),
    ...unless("approvals", form.approvals, "ask"),
    ...given("approvalSeconds", secondsOf(form.approvalTime)),
    ...some("hosts", listOf(form.hosts)),
    ...some("folders", linesOf(form.folders)),
    ...unless("sandbox", form.sandbox, "required"),
    ...(form.quiet === "own" ? { quietHours: ownHours(form) } : unless("quietHours", form.quiet, "respect")),
  };
}

/** Hosts and models as people write them down: one a line, or with commas. */
function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

function ownHours({ quietFrom, quietTo, quietZone, quietDays }: JobForm): QuietHours {
  return { from: quietFrom, to: quietTo, ...(quietZone !== "" && { tz: quietZone }), ...(quietDays.length > 0 && { days: quietDays }) };
}

/** The job that the form describes. Defaults are left out, so that a job says only what was decided. */
export function draftOf(form: JobForm): JobDraft {
  return {
    name: form.name.trim(),
    ...(form.description.trim() !== "" && { description: form.description.trim() }),
    schedule: scheduleOf(form) ?? { kind: "manual" },
    sessionTarget: form.what === "systemEvent" ? "main" : "isolated",
    ...(form.what === "systemEvent" && unless("wakeMode", form.wakeMode, "now")),
    payload: payloadOf(form),
    ...part("runtime", {
      ...given("maxAttempts", form.attempts),
      ...given("retryBackoffMs", scaled(form.backoffSeconds, 1 / 1_000)),
    }),
    ...part("policies", policiesOf(form)),
    ...(form.deleteAfterRun && { deleteAfterRun: true }),
  };
}

/** What `cron.update` is to lay over the job; undefined when nothing changed. */
export function patchOf(before: JobForm, after: JobForm): Record<string, unknown> | undefined {
  const [was, is] = [draftOf(before), draftOf(after)];
  const patch = mergePatch({ ...was }, { ...is });
  if (!patch) return undefined;
  if (patch.schedule !== undefined) patch.schedule = schedulePatch(was.schedule, is.schedule);
  // Another kind begins afresh at the engine, so it is sent whole.
  if (was.schedule.kind !== is.schedule.kind) patch.schedule = is.schedule;
  if (was.payload.kind !== is.payload.kind) patch.payload = is.payload;
  return patch;
}

/** What makes one schedule of another. A time means nothing without its zone, and the instant before is another one: where one
    of them changed, both are sent, and the instant goes. */
export function schedulePatch(was: WrittenSchedule | undefined, is: WrittenSchedule): Plain | undefined {
  const patch = mergePatch({ ...was }, { ...is });
  const isMoved = patch && ("at" in patch || "tz" in patch);
  return isMoved && "at" in is ? { ...patch, at: is.at, tz: is.tz, atMs: null } : patch;
}

/** The whole job for `cron.add`: the form alone, or what was changed laid over `original`, with all it holds. Words that were
    changed are nobody else's any more. */
export function addOf(original: JobDraft | undefined, before: JobForm, after: JobForm): JobDraft {
  if (!original) return draftOf(after);
  const draft = laidOver({ ...original }, patchOf(before, after) ?? {}) as unknown as JobDraft;
  if (before.message !== after.message || before.text !== after.text) delete draft.messageBy;
  return draft;
}

/** A copy of a job: all it holds but its identity and its history, under a name of its own. Words of an agent stay an agent's. */
export function copyOf(job: Job): JobDraft {
  const own = ["id", "createdAtMs", "updatedAtMs", "createdBy", "messageBy", "enabled", "state"];
  const copy = Object.fromEntries(Object.entries(job).filter(([key]) => !own.includes(key)));
  const signature = signatureOn(job);
  return { ...copy, name: `${job.name} copy`, ...(signature !== undefined && { messageBy: signature }) } as JobDraft;
}

/** Whether two states of a job ask the same of the engine; what the engine itself writes does not count. */
export function sameDefinition(a: Job, b: Job): boolean {
  return same(definition(a), definition(b));
}

function definition(job: Job) {
  return { ...job, state: undefined, enabled: undefined, updatedAtMs: undefined };
}

/** A job as a draft of itself, for undoing a delete: everything but what the engine fills in. */
export function withoutState(job: Job): JobDraft {
  const draft: JobDraft & { state?: unknown } = { ...job };
  delete draft.state;
  return draft;
}

function scaled(value: number | null | undefined, by: number): number | null {
  return value === null || value === undefined ? null : Math.round((value / by) * 1_000) / 1_000;
}

function given<K extends string>(key: K, value: number | null): Partial<Record<K, number>> {
  return value === null ? {} : ({ [key]: value } as Record<K, number>);
}

function unless<K extends string, V extends string>(key: K, value: V, usual: NoInfer<V>): Partial<Record<K, V>> {
  return value === usual ? {} : ({ [key]: value } as Record<K, V>);
}

function some<K extends string>(key: K, list: string[]): Partial<Record<K, string[]>> {
  return list.length === 0 ? {} : ({ [key]: list } as Record<K, string[]>);
}

function part<K extends string, V extends object>(key: K, value: V): Partial<Record<K, V>> {
  return Object.keys(value).length === 0 ? {} : ({ [key]: value } as Record<K, V>);
}
