/* Labels of jobs, runs and deliveries. The engine provides schedule texts, so that text and firing agree. */

import { otherZoneName } from "@/format/time";
import { firstLine } from "@/format/text";
import {
  type DeliveryState,
  type DeliveryView,
  type Job,
  type JobView,
  type NotificationStatus,
  type Payload,
  type RunTrigger,
  runTriggerLabels,
  type RunView,
  type SystemStatus,
} from "@/platform";

export const runTriggers = Object.keys(runTriggerLabels) as RunTrigger[];

const deliveries: Record<DeliveryState, string> = {
  pending: "Pending",
  held: "Held for quiet hours",
  sending: "Sending",
  unknown: "No answer; sent again in a minute, marked as a repeat",
  delivered: "Delivered",
  failed: "Not delivered",
  suppressed: "Suppressed",
};

/** WhatsApp does not tell Rouse whether a message arrives. */
export function deliveryLabel({ state, channelKind }: DeliveryView): string {
  return state === "delivered" && channelKind === "whatsapp" ? "Accepted by WhatsApp" : deliveries[state];
}

/** True if a notification can be attempted. */
export function canNotify({ available, failing }: NotificationStatus): boolean {
  return available || failing;
}

/** Outcome of a test notification. */
export function deliveryOutcome({ state, reason, attempts }: DeliveryView): string {
  switch (state) {
    case "delivered":
      return "Accepted by the system. If you saw nothing, check the system’s notification settings. Clicking it opens this page.";
    // Test deliveries are never held.
    case "held":
    case "sending":
    case "pending":
      return attempts > 0
        ? `Tried ${attempts === 1 ? "once" : `${attempts} times`}, will retry. ${reason ?? ""}`
        : "Sending.";
    case "unknown":
      return "The system did not answer. Sent again in a minute.";
    case "failed":
      return reason ?? "The system rejected it.";
    case "suppressed":
      return reason ?? "It was suppressed.";
  }
}

/** Payload on one line. */
export function payloadSummary(payload: Payload): string {
  switch (payload.kind) {
    case "systemEvent":
      return firstLine(payload.text);
    case "agentTurn":
      return firstLine(payload.message);
    case "toolCall":
      return `Calls ${payload.tool}`;
  }
}

/** Payload summary; empty if the name says the same. */
export function payloadSummaryBesideName({ name, payload }: Job): string {
  const words = payloadSummary(payload);
  const bare = (text: string) =>
    text
      .trim()
      .replace(/[.!?…]+$/, "")
      .toLocaleLowerCase();
  return bare(words) === bare(name) ? "" : words;
}

/** `Weekdays at 07:30 · Berlin`; names a non-local zone. */
export function scheduleLabel({ scheduleText, zone }: JobView): string {
  const foreign = otherZoneName(zone ?? undefined);
  return foreign === undefined ? scheduleText : `${scheduleText} · ${foreign}`;
}

/** Error, summary or reason of a run, on one line. */
export function outcomeSummary(run: RunView): string {
  return firstLine(run.error ?? run.summary ?? run.reason ?? "");
}

/** Describes the remote engine of this window. */
export function attachedEngineText({ mode, pid }: SystemStatus): { short: string; full: string } {
  const serve = mode === "serve";
  return {
    short: serve ? "Attached to rouse serve" : "Attached to another Rouse",
    full: `This window uses the engine of ${serve ? "“rouse serve”" : "another app"} (process ${pid}). Quitting here does not stop jobs.`,
  };
}
