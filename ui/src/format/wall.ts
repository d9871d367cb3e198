/* Wall-clock times (`2026-11-22T09:00`) for form fields. The engine resolves the instant. */

import { fromAbsolute, toCalendarDateTime } from "@internationalized/date";

/** Instant at which UTC shows the wall time of `2026-11-23T07:30:00+01:00`. */
export function wallToUtc(written: string): number {
  return Date.parse(`${written.replace(offset, "")}Z`);
}

/** UTC offset: `+01:00`. */
export function offsetOf(written: string): string {
  return offset.exec(written)?.[0] ?? "";
}

const offset = /[+-]\d\d:\d\d$/;

/** Wall time of an instant, to the minute. */
export function wallTime(atMs: number, zone: string): string {
  return toCalendarDateTime(fromAbsolute(atMs, zone)).toString().slice(0, 16);
}

/** Wall time `minutes` from now, rounded up to a full minute. */
export function wallTimeIn(minutes: number, now: number, zone: string): string {
  return wallTime(Math.ceil(now / 60_000 + minutes) * 60_000, zone);
}

/** Wall time on the next day. */
export function tomorrowAt(time: string, now: number, zone: string): string {
  const tomorrow = toCalendarDateTime(fromAbsolute(now, zone)).add({ days: 1 });
  return `${tomorrow.toString().slice(0, 10)}T${time}`;
}
