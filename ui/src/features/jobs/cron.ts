/* Days and times as one cron pattern, both ways. The pattern is what is kept and what the engine reads; days and times are
   a view of it, and many patterns have none. One could get it wrong by showing a pattern as nearly the same days: what
   does not fit exactly is left to the cron text. */

/** Monday first, by cron's numbers. */
export const weekdays = ["1", "2", "3", "4", "5", "6", "0"] as const;
export type Weekday = (typeof weekdays)[number];

/** A day of the month by number; `L` is the last one. */
export const monthDays = [...Array.from({ length: 31 }, (_, i) => String(i + 1)), "L"] as const;

export interface DaysAndTimes {
  of: "week" | "month";
  /** Weekdays or days of the month, in their order. */
  days: string[];
  /** `07:30`, in order. */
  times: string[];
}

const mostTimes = 12;
const names: Record<string, number> = { SUN: 0, MON: 1, TUE: 2, WED: 3, THU: 4, FRI: 5, SAT: 6 };
const aliases: Record<string, string> = { "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *" };

/** The days and times of a pattern; undefined when it says something that they cannot. */
export function daysOf(expr: string): DaysAndTimes | undefined {
  const text = aliases[expr.trim().toLowerCase()] ?? expr.trim();
  const fields = text.split(/\s+/);
  if (fields.length === 6 && fields[0] === "0") fields.shift();
  const [minute, hour, day, month, weekday] = fields;
  if (fields.length !== 5 || minute === undefined || hour === undefined || day === undefined || month !== "*" || weekday === undefined) return undefined;
  const times = timesOf(minute, hour);
  if (!times) return undefined;
  if (isAny(day)) {
    const days = isAny(weekday) ? [...weekdays] : weekdaysOf(weekday);
    return days && { of: "week", days, times };
  }
  const days = isAny(weekday) ? monthDaysOf(day) : undefined;
  return days && { of: "month", days, times };
}

/** The pattern of days and times, or why one pattern cannot hold them. */
export function cronOf({ of, days, times }: DaysAndTimes): { expr: string } | { problem: string } {
  if (days.length === 0) return { problem: "Choose at least one day." };
  if (times.length === 0 || times.includes("")) return { problem: "Give every time of day in full." };
  const hours = unique(times.map((time) => Number(time.slice(0, 2))));
  const minutes = unique(times.map((time) => Number(time.slice(3, 5))));
  if (hours.length * minutes.length !== new Set(times).size) {
    return { problem: "One job can hold several times only when they have the same minutes, such as 07:30 and 12:30. Make a second job for the other." };
  }
  const [day, weekday] = of === "week" ? ["*", writtenWeekdays(days)] : [writtenMonthDays(days), "*"];
  return { expr: `${minutes.join(",")} ${written(hours)} ${day} * ${weekday}` };
}

function isAny(field: string): boolean {
  return field === "*" || field === "?";
}

function timesOf(minute: string, hour: string): string[] | undefined {
  const minutes = numbers(minute, 0, 59);
  const hours = numbers(hour, 0, 23);
  if (!minutes || !hours || minutes.length * hours.length > mostTimes) return undefined;
  return hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`)).toSorted();
}

function weekdaysOf(field: string): Weekday[] | undefined {
  const plain = field.toUpperCase().replace(/[A-Z]{3}/g, (name) => String(names[name] ?? name));
  const found = numbers(plain, 0, 7)?.map((n) => String(n % 7));
  return found && weekdays.filter((day) => found.includes(day));
}

function monthDaysOf(field: string): string[] | undefined {
  const parts = field.split(",");
  const last = parts.some((part) => part.toUpperCase() === "L");
  const rest = parts.filter((part) => part.toUpperCase() !== "L");
  const found = rest.length === 0 ? [] : numbers(rest.join(","), 1, 31);
  return found && [...found.map(String), ...(last ? ["L"] : [])];
}

/** The numbers of a list of numbers and ranges, in order; undefined for anything else. */
function numbers(field: string, least: number, most: number): number[] | undefined {
  const found: number[] = [];
  for (const part of field.split(",")) {
    const match = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(part);
    if (!match) return undefined;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    if (from < least || to > most || to < from) return undefined;
    for (let n = from; n <= to; n += 1) found.push(n);
  }
  return unique(found);
}

function writtenWeekdays(days: string[]): string {
  return days.length === 7 ? "*" : written(unique(days.map(Number)));
}

function writtenMonthDays(days: string[]): string {
  const last = days.includes("L") ? ["L"] : [];
  const rest = unique(days.filter((day) => day !== "L").map(Number));
  return [...(rest.length > 0 ? [written(rest)] : []), ...last].join(",");
}

/** `1-5` from three in a row, a list otherwise. */
function written(sorted: number[]): string {
  const runs: number[][] = [];
  for (const n of sorted) {
    const run = runs.at(-1);
    if (run?.at(-1) === n - 1) run.push(n);
    else runs.push([n]);
  }
  return runs.map((run) => (run.length > 2 ? `${run[0] ?? ""}-${run.at(-1) ?? ""}` : run.join(","))).join(",");
}

function unique(list: number[]): number[] {
  return [...new Set(list)].toSorted((a, b) => a - b);
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
