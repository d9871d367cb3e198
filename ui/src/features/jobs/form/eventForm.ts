/* Converts between event triggers and form fields. Filters are `key=value` lines; numbers and booleans are typed,
   quoted text stays text. */

import { isLive, runStates } from "@/domain/runState";
import type { RfcStatus, RunState, Schedule } from "@/platform";

type EventSchedule = Extract<Schedule, { kind: "event" }>;
type Filters = NonNullable<EventSchedule["filters"]>;

/** Event sources; `other` is an unknown source of an imported job. */
export type EventSourceChoice = "job" | "wake" | "cron" | "webhook" | "other";
/** Any outcome, a status of the cron RFC, or a final state. */
export type EventOutcome = "any" | RfcStatus | RunState;
export const eventOutcomes: readonly EventOutcome[] = [
  "ok",
  "error",
  "any",
  ...runStates.filter((state) => !isLive(state)),
];

export interface EventForm {
  source: EventSourceChoice;
  /** Unknown source of an imported job. */
  otherSource: string;
  afterJob: string;
  afterEnd: EventOutcome;
  pattern: string;
  filters: string;
}

export const emptyEventForm: EventForm = {
  source: "job",
  otherSource: "",
  afterJob: "",
  afterEnd: "ok",
  pattern: "",
  filters: "",
};

const knownSources: readonly string[] = ["job", "wake", "cron", "webhook"];

export function eventFormFrom({ source, pattern, filters = {} }: EventSchedule): EventForm {
  const { jobId, status, ...rest } = filters;
  const isJob = source === "job";
  const end = eventOutcomes.find((end) => end === status);
  const others = {
    ...rest,
    ...(!(isJob && typeof jobId === "string") && jobId !== undefined && { jobId }),
    ...(!(isJob && end) && status !== undefined && { status }),
  };
  return {
    source: knownSources.includes(source) ? (source as EventSourceChoice) : "other",
    otherSource: knownSources.includes(source) ? "" : source,
    afterJob: isJob && typeof jobId === "string" ? jobId : "",
    afterEnd: (isJob && end) || "any",
    pattern: pattern ?? "",
    filters: Object.entries(others)
      .map(([key, parseValue]) => `${key}=${formatValue(parseValue)}`)
      .join("\n"),
  };
}

export function eventScheduleFrom(form: EventForm): EventSchedule | undefined {
  const source = form.source === "other" ? form.otherSource.trim() : form.source;
  const read = parseFilters(form.filters);
  if (source === "" || "problem" in read) return undefined;
  const filters: Filters = {
    ...read.filters,
    ...(form.source === "job" && form.afterJob !== "" && { jobId: form.afterJob }),
    ...(form.source === "job" && form.afterEnd !== "any" && { status: form.afterEnd }),
  };
  return {
    kind: "event",
    source,
    ...(form.pattern !== "" && { pattern: form.pattern }),
    ...(Object.keys(filters).length > 0 && { filters }),
  };
}

export function parseFilters(lines: string): { filters: Filters } | { problem: string } {
  const filters: Filters = {};
  for (const line of lines.split("\n").filter((line) => line.trim() !== "")) {
    const [key, ...rest] = line.split("=");
    if (rest.length === 0 || key === undefined || key.trim() === "")
      return { problem: `Use key=value, one per line: ${line.trim()}` };
    filters[key.trim()] = value(rest.join("=").trim());
  }
  return { filters };
}

function value(text: string): string | number | boolean {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "string" || typeof read === "number" || typeof read === "boolean" ? read : text;
  } catch {
    return text;
  }
}

function formatValue(is: unknown): string {
  return typeof is === "string" && value(is) === is ? is : JSON.stringify(is);
}
