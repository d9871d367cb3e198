/* Time zone choices. */

import { localZone } from "@/format/time";

/** Local zone, current value, UTC, then all others. */
export function timeZoneChoices(present: string): { id: string; label: string }[] {
  const known = new Set([localZone(), present, "UTC", ...Intl.supportedValuesOf("timeZone")]);
  known.delete("");
  return [...known].map((id) => ({ id, label: id.replaceAll("_", " ") }));
}
