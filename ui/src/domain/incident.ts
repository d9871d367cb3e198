/* Why a job fails, in words: since when, how often, and whether it was paused for it. */

import { plural } from "@/format/amount";
import { when } from "@/format/time";
import type { IncidentView } from "@/platform";

/** Whether a run failed because there was no model: the engine begins what it says of that in these words. */
export function lacksModel(cause: string): boolean {
  return cause.startsWith("No model is set up.");
}

/** Whether what the job failed of has been mended since: there was no model, and now there is one. */
export function isMended({ cause }: IncidentView, model: string | null | undefined): boolean {
  return lacksModel(cause) && typeof model === "string";
}

/** `Failing since 22:10 · 14 times · same cause`, or why the job was paused. */
export function incidentWords(incident: IncidentView, now: number): string {
  if (incident.pausedBecause !== null) return incident.pausedBecause;
  const since = `Failing since ${when(incident.openedAtMs, now)}`;
  return incident.count === 1 ? since : `${since} · ${plural(incident.count, "time")} · same cause`;
}
