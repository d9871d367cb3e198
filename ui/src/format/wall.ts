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

/** What is special about a time on the wall of `zone`, as sentences; undefined for an ordinary one. */
export function oddityOf(wall: string, zone: string): string | undefined {
  const at = instantOf(wall, zone);
  if (at === undefined) return undefined;
  const shown = wallOf(at, zone);
  if (shown !== wall) return `The clocks skip ${wall.slice(11)} on that day. It fires right after, at ${shown.slice(11)}.`;
  const again = toZoned(parseDateTime(wall), zone, "later").toDate().getTime();
  return again === at ? undefined : `The clocks show ${wall.slice(11)} twice on that day. It fires the first time.`;
}

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
