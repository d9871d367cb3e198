/* What a clock on the wall of a zone shows (`2026-11-22T09:00`) and the instant it means. A time that the zone skips is
   the one after the gap, a time it has twice is the first of the two, as the engine reads them. */

import { fromAbsolute, parseDateTime, toCalendarDateTime, toZoned } from "@internationalized/date";

/** The instant at which the clocks of `zone` show `wall`; undefined when that is no time. */
export function instantOf(wall: string, zone: string): number | undefined {
  try {
    return toZoned(parseDateTime(wall), zone, "compatible").toDate().getTime();
  } catch {
    return undefined;
  }
}

/** What the clocks of `zone` show at an instant, to the minute. */
export function wallOf(atMs: number, zone: string): string {
  return toCalendarDateTime(fromAbsolute(atMs, zone)).toString().slice(0, 16);
}
