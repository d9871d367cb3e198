/* The event trigger of a job as fields of the form, both ways. The job that it comes after and the end of that job are
   fields of their own; all other filters are lines of text, `key=value`, of which a number and true or false mean what
   they say. A text that only looks like one of those stands in quotes. */

import type { Schedule } from "@/platform";

type EventSchedule = Extract<Schedule, { kind: "event" }>;
type Filters = NonNullable<EventSchedule["filters"]>;

/** Where events come from; `other` stands for what an imported job names and nothing here ever sends. */
export type Source = "job" | "wake" | "cron" | "webhook" | "other";
export const ends = ["any", "ok", "error", "skipped", "timedOut", "interrupted", "cancelled", "missed", "failed", "succeeded", "nothingToReport"] as const;
export type End = (typeof ends)[number];

export interface EventForm {
  source: Source;
  /** The source that an imported job names, when there is none of that name. */
  otherSource: string;
  afterJob: string;
  afterEnd: End;
  pattern: string;
  filters: string;
}

export const emptyEvent: EventForm = { source: "job", otherSource: "", afterJob: "", afterEnd: "ok", pattern: "", filters: "" };

const known: readonly string[] = ["job", "wake", "cron", "webhook"];

export function eventForm({ source, pattern, filters = {} }: EventSchedule): EventForm {
  const { jobId, status, ...rest } = filters;
  const isJob = source === "job";
  const end = ends.find((end) => end === status);
  const others = { ...rest, ...(!(isJob && typeof jobId === "string") && jobId !== undefined && { jobId }), ...(!(isJob && end) && status !== undefined && { status }) };
  return {
    source: known.includes(source) ? (source as Source) : "other",
    otherSource: known.includes(source) ? "" : source,
    afterJob: isJob && typeof jobId === "string" ? jobId : "",
    afterEnd: (isJob && end) || "any",
    pattern: pattern ?? "",
    filters: Object.entries(others).map(([key, value]) => `${key}=${written(value)}`).join("\n"),
  };
}

export function eventOf(form: EventForm): EventSchedule | undefined {
  const source = form.source === "other" ? form.otherSource.trim() : form.source;
  const read = filtersOf(form.filters);
  if (source === "" || "problem" in read) return undefined;
  const filters: Filters = {
    ...read.filters,
    ...(form.source === "job" && form.afterJob !== "" && { jobId: form.afterJob }),
    ...(form.source === "job" && form.afterEnd !== "any" && { status: form.afterEnd }),
  };
  return {
    kind: "event", source,
    ...(form.pattern !== "" && { pattern: form.pattern }),
    ...(Object.keys(filters).length > 0 && { filters }),
  };
}

export function filtersOf(lines: string): { filters: Filters } | { problem: string } {
  const filters: Filters = {};
  for (const line of lines.split("\n").filter((line) => line.trim() !== "")) {
    const [key, ...rest] = line.split("=");
    if (rest.length === 0 || key === undefined || key.trim() === "") return { problem: `Write key=value, one a line: ${line.trim()}` };
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

function written(is: unknown): string {
  return typeof is === "string" && value(is) === is ? is : JSON.stringify(is);
}
