/* Converts between days and times and cron expressions. The expression is stored. Pitfall: an expression that does
   not fit exactly has no days-and-times view. */

/** Monday first, cron numbers. */
export const weekdays = ["1", "2", "3", "4", "5", "6", "0"] as const;
export type Weekday = (typeof weekdays)[number];

/** Day of the month; `L` is the last. */
export const monthDays = [...Array.from({ length: 31 }, (_, i) => String(i + 1)), "L"] as const;

export interface DaysAndTimes {
  of: "week" | "month";
  /** Weekdays or days of the month, in order. */
  days: string[];
  /** `07:30`, in order. */
  times: string[];
}

const maxTimes = 12;
const names: Record<string, number> = { SUN: 0, MON: 1, TUE: 2, WED: 3, THU: 4, FRI: 5, SAT: 6 };
const aliases: Record<string, string> = {
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
};

/** Days and times of an expression; undefined if inexpressible. */
export function parseDaysAndTimes(expr: string): DaysAndTimes | undefined {
  const text = aliases[expr.trim().toLowerCase()] ?? expr.trim();
  const fields = text.split(/\s+/);
  if (fields.length === 6 && fields[0] === "0") fields.shift();
  const [minute, hour, day, month, weekday] = fields;
  if (
    fields.length !== 5 ||
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month !== "*" ||
    weekday === undefined
  )
    return undefined;
  const times = parseTimes(minute, hour);
  if (!times) return undefined;
  if (isWildcard(day)) {
    const days = isWildcard(weekday) ? [...weekdays] : parseWeekdays(weekday);
    return days && { of: "week", days, times };
  }
  const days = isWildcard(weekday) ? parseMonthDays(day) : undefined;
  return days && { of: "month", days, times };
}

/** Expression for days and times, or why none exists. */
export function cronExpression({ of, days, times }: DaysAndTimes): { expr: string } | { problem: string } {
  if (days.length === 0) return { problem: "Choose at least one day." };
  if (times.length === 0 || times.includes("")) return { problem: "Complete every time of day." };
  const hours = unique(times.map((time) => Number(time.slice(0, 2))));
  const minutes = unique(times.map((time) => Number(time.slice(3, 5))));
  if (hours.length * minutes.length !== new Set(times).size) {
    return {
      problem:
        "Several times in one job must share the same minutes, such as 07:30 and 12:30. Create a second job for the others.",
    };
  }
  const [day, weekday] = of === "week" ? ["*", formatWeekdays(days)] : [formatMonthDays(days), "*"];
  return { expr: `${minutes.join(",")} ${formatRanges(hours)} ${day} * ${weekday}` };
}

function isWildcard(field: string): boolean {
  return field === "*" || field === "?";
}

function parseTimes(minute: string, hour: string): string[] | undefined {
  const minutes = parseNumbers(minute, 0, 59);
  const hours = parseNumbers(hour, 0, 23);
  if (!minutes || !hours || minutes.length * hours.length > maxTimes) return undefined;
  return hours.flatMap((h) => minutes.map((m) => `${padTwo(h)}:${padTwo(m)}`)).toSorted();
}

function parseWeekdays(field: string): Weekday[] | undefined {
  const plain = field.toUpperCase().replace(/[A-Z]{3}/g, (name) => String(names[name] ?? name));
  const found = parseNumbers(plain, 0, 7)?.map((n) => String(n % 7));
  return found && weekdays.filter((day) => found.includes(day));
}

function parseMonthDays(field: string): string[] | undefined {
  const parts = field.split(",");
  const last = parts.some((part) => part.toUpperCase() === "L");
  const rest = parts.filter((part) => part.toUpperCase() !== "L");
  const found = rest.length === 0 ? [] : parseNumbers(rest.join(","), 1, 31);
  return found && [...found.map(String), ...(last ? ["L"] : [])];
}

/** Numbers of a list with ranges, sorted; undefined for other syntax. */
function parseNumbers(field: string, least: number, most: number): number[] | undefined {
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

function formatWeekdays(days: string[]): string {
  return days.length === 7 ? "*" : formatRanges(unique(days.map(Number)));
}

function formatMonthDays(days: string[]): string {
  const last = days.includes("L") ? ["L"] : [];
  const rest = unique(days.filter((day) => day !== "L").map(Number));
  return [...(rest.length > 0 ? [formatRanges(rest)] : []), ...last].join(",");
}

/** `1-5` for three or more in a row, otherwise a list. */
function formatRanges(sorted: number[]): string {
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

function padTwo(n: number): string {
  return String(n).padStart(2, "0");
}
