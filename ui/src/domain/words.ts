/* What jobs and runs are, in plain words. When a job fires is said by the engine (`scheduleText`), so that the words and
   the firing cannot differ. */

import { foreignZone } from "@/format/time";
import { firstLine } from "@/format/text";
import type { DeliveryState, DeliveryView, Job, JobView, NotificationStatus, Payload, RunTrigger, RunView, SystemStatus } from "@/platform";

const triggers: Record<RunTrigger, string> = {
  schedule: "On schedule",
  catchUp: "Catch-up",
  event: "On an event",
  webhook: "By webhook",
  manual: "By hand",
  chat: "In the chat",
  heartbeat: "Heartbeat",
};

export const runTriggers = Object.keys(triggers) as RunTrigger[];

export function triggerWord(trigger: RunTrigger): string {
  return triggers[trigger];
}

const deliveries: Record<DeliveryState, string> = {
  pending: "Waiting to be delivered",
  held: "Held for quiet hours",
  delivered: "Delivered",
  failed: "Not delivered",
  suppressed: "Held back",
};

export function deliveryWord(state: DeliveryState): string {
  return deliveries[state];
}

/** Whether a notification can be tried: one that did not get through may the next time, but not where there is no desktop. */
export function canNotify({ available, failing }: NotificationStatus): boolean {
  return available || failing;
}

/** What became of a test, as sentences. */
export function fateOf({ state, reason, attempts }: DeliveryView): string {
  switch (state) {
    case "delivered":
      return "The system has taken it. If nothing was to be seen, look at the system’s own notification settings. A click on it leads back here.";
    // A test is never held; a delivery that is says so itself.
    case "held":
    case "pending":
      return attempts > 0 ? `Tried ${attempts === 1 ? "once" : `${attempts} times`}; it will be tried again. ${reason ?? ""}` : "On its way.";
    case "failed":
      return reason ?? "The system did not take it.";
    case "suppressed":
      return reason ?? "It was held back.";
  }
}

/** What a run of this payload does, in one line. */
export function payloadWords(payload: Payload): string {
  switch (payload.kind) {
    case "systemEvent":
      return firstLine(payload.text);
    case "agentTurn":
      return firstLine(payload.message);
    case "toolCall":
      return `Calls ${payload.tool}`;
  }
}

/** The same beside the job's name; nothing when the name says it already, as that of a reminder made from its text alone does. */
export function payloadBesideName({ name, payload }: Job): string {
  const words = payloadWords(payload);
  const bare = (text: string) => text.trim().replace(/[.!?…]+$/, "").toLocaleLowerCase();
  return bare(words) === bare(name) ? "" : words;
}

/** `Weekdays at 07:30 · Berlin`; the zone is named when it is not this computer's. */
export function scheduleWords({ scheduleText, zone }: JobView): string {
  const foreign = foreignZone(zone ?? undefined);
  return foreign === undefined ? scheduleText : `${scheduleText} · ${foreign}`;
}

/** What came of a run, in one line: its summary, its error, or why it did not happen. */
export function outcomeWords(run: RunView): string {
  return firstLine(run.error ?? run.summary ?? run.reason ?? "");
}

/** Who does the work while this window is attached to the engine of another process. */
export function engineElsewhere({ mode, pid }: SystemStatus): { short: string; full: string } {
  const serve = mode === "serve";
  return {
    short: serve ? "Attached to rouse serve" : "Attached to another Rouse",
    full: `This window is attached to the Rouse that ${serve ? "“rouse serve”" : "another app"} started (process ${pid}). Quitting here does not stop it; jobs keep running.`,
  };
}
