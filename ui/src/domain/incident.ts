/* Labels of incidents. */

import { plural } from "@/format/amount";
import { when } from "@/format/time";
import type { IncidentView } from "@/platform";

/** True if a run failed for a missing model; matches the engine's text. */
export function isMissingModel(cause: string): boolean {
  return cause.startsWith("No model is set up.");
}

/** True if a model was connected since. */
export function isModelConnectedSince({ cause }: IncidentView, model: string | null | undefined): boolean {
  return isMissingModel(cause) && typeof model === "string";
}

/** `Failing since 22:10 · 14 times · same cause`, or why the job was paused. */
export function incidentLabel(incident: IncidentView, now: number): string {
  if (incident.pausedBecause !== null) return incident.pausedBecause;
  const since = `Failing since ${when(incident.openedAtMs, now)}`;
  return incident.count === 1 ? since : `${since} · ${plural(incident.count, "time")} · same cause`;
}
