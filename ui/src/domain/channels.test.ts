import { expect, test } from "vitest";

import type { ChannelKind } from "@/platform";
import { aChannel, aDelivery } from "@/test/fixtures";

import { recipientLabel, targetsOf, testOutcome } from "./channels";

const two = ["Anna", "Ben"].map((label, at) => ({ address: `${at + 7}`, label, isPrivate: true, isPaired: false }));

test("targets are the notification, channels and their recipients", () => {
  const channels = [aChannel(), aChannel({ name: "family", recipients: two })];
  const mail = aChannel({ name: "mail", kind: "email", recipients: two });
  expect(targetsOf([...channels, mail], []).map(({ id, label }) => [id, label])).toEqual([
    ["notification", "Notification"],
    ["phone", "phone"],
    ["family:7", "family, Anna"],
    ["family:8", "family, Ben"],
    ["mail", "mail"],
    ["mail:7", "mail, Anna"],
    ["mail:8", "mail, Ben"],
  ]);
});

test("written target without a channel stays a choice", () => {
  const labels = targetsOf([aChannel()], ["last", "telegram", "phone:7", "gone"]).slice(2);
  expect(labels.map(({ label }) => label)).toEqual([
    "Where you wrote last",
    "telegram",
    "phone:7",
    "gone (not set up)",
  ]);
});

test("recipient has a name, or the address if unknown", () => {
  const label = (to: string | null) => recipientLabel([aChannel()], aDelivery({ channel: "phone", to }));
  expect([label("7"), label("8"), label(null)]).toEqual(["Anna", "8", undefined]);
});

test.each([
  ["delivered", null, "Delivered: mail accepted the message."],
  ["suppressed", "No desktop.", "Not sent: No desktop."],
  ["failed", null, "Not delivered: The cause is unknown."],
  ["pending", "No network", "Not delivered yet: No network. Rouse tries for 24 hours."],
  ["sending", null, "Sending."],
] as const)("outcome of a test: %s, %j", (state, reason, text) => {
  expect(testOutcome(aDelivery({ channel: "mail", state, reason }))).toBe(text);
});

test("WhatsApp accepts a test", () => {
  const delivery = aDelivery({ channel: "wa", channelKind: "whatsapp", state: "delivered" });
  expect(testOutcome(delivery)).toMatch(/^Accepted by WhatsApp,/);
});

test("kinds with one recipient per message are known", () => {
  const kinds: ChannelKind[] = ["telegram", "whatsapp", "email", "slack"];
  const isEach = kinds.map((kind) => targetsOf([aChannel({ kind, recipients: two })], []).length === 3);
  expect(isEach).toEqual([true, true, false, false]);
});
