/* Formats times. `now` and the zone are arguments, for a shared page clock and for tests. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Local time zone. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Caches formatters, which are expensive to create. */
function formatter(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let made = formatters.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat(undefined, { timeZone: zone, ...options });
    formatters.set(key, made);
  }
  return made;
}

/** 24-hour clock, as in the job format. */
export const clock24h = {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
} as const satisfies Intl.DateTimeFormatOptions;

/** Time of day: `07:30`. */
export function clock(atMs: number, zone = localZone()): string {
  return formatter(zone, clock24h).format(atMs);
}

/** Days since 1970 in `zone`. */
function dayNumber(atMs: number, zone: string): number {
  const parts = formatter(zone, {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    calendar: "gregory",
    numberingSystem: "latn",
  }).formatToParts(atMs);
  const part = (type: string) => Number(parts.find((p) => p.type === type)?.value);
  return Date.UTC(part("year"), part("month") - 1, part("day")) / day;
}

/** Near day in words, otherwise a date. */
export function dayName(atMs: number, now: number, zone = localZone()): string {
  const distance = dayNumber(atMs, zone) - dayNumber(now, zone);
  if (Math.abs(distance) <= 1)
    return capital(new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(distance, "day"));
  return distance > 1 && distance < 7 ? formatter(zone, { weekday: "long" }).format(atMs) : date(atMs, now, zone);
}

/** Date, with the year unless current: `3 Jan`. */
export function date(atMs: number, now: number, zone = localZone()): string {
  const sameYear =
    formatter(zone, { year: "numeric" }).format(atMs) === formatter(zone, { year: "numeric" }).format(now);
  return formatter(
    zone,
    sameYear ? { day: "numeric", month: "short" } : { day: "numeric", month: "short", year: "numeric" },
  ).format(atMs);
}

/** `Tomorrow 07:30`, `Thursday 09:00`, `3 Jan 09:00`; only the time for today. */
export function when(atMs: number, now: number, zone = localZone()): string {
  const near = dayNumber(atMs, zone) === dayNumber(now, zone);
  return near ? clock(atMs, zone) : `${dayName(atMs, now, zone)} ${clock(atMs, zone)}`;
}

/** For use within a sentence: `tomorrow 07:30`. */
export function whenWithin(atMs: number, now: number, zone = localZone()): string {
  const text = when(atMs, now, zone);
  const isNextTo = Math.abs(dayNumber(atMs, zone) - dayNumber(now, zone)) === 1;
  return isNextTo ? text.charAt(0).toLocaleLowerCase() + text.slice(1) : text;
}

/** Full date and time with seconds and zone. */
export function absolute(atMs: number, zone = localZone()): string {
  return formatter(zone, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    ...clock24h,
    second: "2-digit",
    timeZoneName: "short",
  }).format(atMs);
}

/** `in 2 h`, `5 min ago`, `now`; minutes are shown within the next six hours, a date beyond a week. */
export function relative(atMs: number, now: number, zone = localZone()): string {
  const distance = atMs - now;
  const size = Math.abs(distance);
  if (size < 5 * second) return "now";
  if (size >= 7 * day) return dayName(atMs, now, zone);
  const words =
    Math.round(size / second) < 60
      ? `${Math.round(size / second)} s`
      : Math.round(size / minute) < 60
        ? `${Math.round(size / minute)} min`
        : distance > 0 && size < 6 * hour
          ? hoursAndMinutes(Math.round(size / minute))
          : size < day
            ? `${Math.round(size / hour)} h`
            : `${Math.round(size / day)} d`;
  return distance > 0 ? `in ${words}` : `${words} ago`;
}

function hoursAndMinutes(minutes: number): string {
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest === 0 ? "" : ` ${rest} min`}`;
}

/** Refresh interval of a relative time. */
export function refreshIntervalMs(distanceMs: number): number {
  return Math.abs(distanceMs) < 2 * minute ? second : 30 * second;
}

/** `Europe/Berlin` → `Berlin`. */
export function zoneName(zone: string): string {
  return (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
}

/** Name of a zone; undefined for the local zone. */
export function otherZoneName(zone: string | undefined, local = localZone()): string | undefined {
  return zone === undefined || canonical(zone) === canonical(local) ? undefined : zoneName(zone);
}

/** Canonical zone name; unknown names stay. */
function canonical(zone: string): string {
  if (/^(etc\/)?(utc|uct|gmt|zulu|universal|greenwich)$/i.test(zone)) return "UTC";
  try {
    return formatter(zone, {}).resolvedOptions().timeZone;
  } catch {
    return zone;
  }
}

function capital(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
