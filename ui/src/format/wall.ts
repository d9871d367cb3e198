/* What a clock on the wall of a zone shows (`2026-11-22T09:00`), to begin a form with and to show again what the engine has
   written. Which instant a time means is nobody's to say here: the engine reads it, and its rules of a zone may be newer. */

import { fromAbsolute, toCalendarDateTime } from "@internationalized/date";

/** What the clock shows in a time as the engine writes it (`2026-11-23T07:30:00+01:00`), as the instant at which UTC shows the same. */
export function shownIn(written: string): number {
  return Date.parse(`${written.replace(offset, "")}Z`);
}

/** How far that clock is from UTC: `+01:00`. */
export function offsetOf(written: string): string {
  return offset.exec(written)?.[0] ?? "";
}

const offset = /[+-]\d\d:\d\d$/;

/** What the clocks of `zone` show at an instant, to the minute. */
export function wallOf(atMs: number, zone: string): string {
  return toCalendarDateTime(fromAbsolute(atMs, zone)).toString().slice(0, 16);
}

/** What the clocks of `zone` show `minutes` from now, up to the next full minute, so that it is never sooner. */
export function wallIn(minutes: number, now: number, zone: string): string {
  return wallOf(Math.ceil(now / 60_000 + minutes) * 60_000, zone);
}

/** A time of day (`09:00`) on the day after today, as `zone` has its days. */
export function tomorrowAt(time: string, now: number, zone: string): string {
  const tomorrow = toCalendarDateTime(fromAbsolute(now, zone)).add({ days: 1 });
  return `${tomorrow.toString().slice(0, 10)}T${time}`;
}
