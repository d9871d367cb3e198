/* Channels of messages: targets to choose from, labels and states. Pitfall: dropping a written target that matches no
   channel; the target stays as a choice, so that it can be deselected. */

import { withFullStop } from "@/format/text";
import type { ChannelKind, ChannelView, DeliveryView } from "@/platform";

/** The native notification. */
export const notificationTarget = "notification";
/** The place of the newest message of the person in the main session. */
const lastTarget = "last";

/** True if each message of the kind goes to one recipient. */
export function needsRecipient(kind: ChannelKind): boolean {
  return kind === "telegram" || kind === "whatsapp";
}

/** `NAME` or `NAME:RECIPIENT`, with a label. */
export interface Target {
  id: string;
  label: string;
}

/** Targets of all channels, and the chosen targets that match none. */
export function targetsOf(channels: readonly ChannelView[], chosen: readonly string[]): Target[] {
  const known = [{ id: notificationTarget, label: "Notification" }, ...channels.flatMap(channelTargets)];
  const others = chosen.filter((id) => !known.some((target) => target.id === id));
  return [...known, ...others.map((id) => ({ id, label: otherLabel(channels, id) }))];
}

/** A channel with several recipients has a target for each; e-mail also one for all. */
function channelTargets({ name, kind, recipients }: ChannelView): Target[] {
  if (recipients.length < 2) return [{ id: name, label: name }];
  const each = recipients.map(({ address, label }) => ({ id: `${name}:${address}`, label: `${name}, ${label}` }));
  return needsRecipient(kind) ? each : [{ id: name, label: name }, ...each];
}

function otherLabel(channels: readonly ChannelView[], id: string): string {
  if (id === lastTarget) return "Where you wrote last";
  const [name = ""] = id.split(":", 1);
  const isKnown = channels.some((channel) => channel.name === name || channel.kind === name);
  return isKnown ? id : `${id} (not set up)`;
}

/** Name of a recipient; the address if unknown. */
export function recipientLabel(channels: readonly ChannelView[], { channel, to }: DeliveryView): string | undefined {
  if (to === null) return undefined;
  const recipients = channels.find(({ name }) => name === channel)?.recipients ?? [];
  return recipients.find(({ address }) => address === to)?.label ?? to;
}

export type ChannelState = "ready" | "failed" | "problem";

/** A delivery after the newest failure shows that the channel works again. */
export function channelState(channel: ChannelView): ChannelState {
  const { newestFailure, lastDeliveredAtMs, problem } = channel;
  if (problem !== null) return "problem";
  return newestFailure !== null && newestFailure.atMs > (lastDeliveredAtMs ?? 0) ? "failed" : "ready";
}

/** Outcome of a test message. */
export function testOutcome({ channel, channelKind, state, reason }: DeliveryView): string {
  const cause = reason === null ? "The cause is unknown." : withFullStop(reason);
  switch (state) {
    case "delivered":
      if (channelKind === "whatsapp")
        return "Accepted by WhatsApp, which does not tell Rouse whether the message arrives.";
      return `Delivered: ${channel} accepted the message.`;
    case "unknown":
      return `No answer: the message may have arrived. ${reason === null ? "" : `${cause} `}Rouse sends it once more, marked as a repeat.`;
    case "failed":
      return `Not delivered: ${cause}`;
    case "suppressed":
      return `Not sent: ${cause}`;
    case "pending":
    case "held":
    case "sending":
      return reason === null ? "Sending." : `Not delivered yet: ${cause} Rouse tries for 24 hours.`;
  }
}
