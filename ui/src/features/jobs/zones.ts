/* The time zones that a field offers. */

import { localZone } from "@/format/time";

/** This computer's first, then the one that is set, then all others that the browser knows. */
export function zoneChoices(present: string): { id: string; label: string }[] {
  const known = new Set([localZone(), present, "UTC", ...Intl.supportedValuesOf("timeZone")]);
  known.delete("");
  return [...known].map((id) => ({ id, label: id.replaceAll("_", " ") }));
}
