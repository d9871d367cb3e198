/* Fields of each kind of channel, as the settings and `rouse channels add` know them. Never holds a value. */

import type { ChannelKind } from "@/platform";

export interface ChannelField {
  /** Key of the settings. */
  key: string;
  label: string;
  help?: string;
  placeholder?: string;
  /** End of the name of the stored secret; without one, the value is written into the settings. */
  secret?: "address" | "token" | "topic" | "password" | "key";
  isOptional?: boolean;
  /** `list` has one value per line. [default: text] */
  input?: "list" | "security";
}

export interface KindSetup {
  label: string;
  /** What the kind is, on one line. */
  about: string;
  /** What to know before the set-up. */
  note?: string;
  fields: readonly ChannelField[];
}

const webhookAddress: ChannelField = {
  key: "urlSecret",
  secret: "address",
  label: "Webhook address",
  help: "The address is a password. Stored as a secret, never shown again.",
};

export const kindSetups: Record<ChannelKind, KindSetup> = {
  telegram: {
    label: "Telegram",
    about: "Reports, approvals with buttons, and chat with a bot of yours. Free, no server needed.",
    note: "Write /newbot to @BotFather in Telegram and copy the token. You pair your chat in the next step. Telegram can read the messages of a bot.",
    fields: [
      { key: "tokenSecret", secret: "token", label: "Bot token", help: "From @BotFather. Never shown again." },
      {
        key: "to",
        label: "Other chats",
        input: "list",
        isOptional: true,
        help: "IDs of groups that get messages only, one per line. [default: none]",
      },
      {
        key: "url",
        label: "Bot API server",
        isOptional: true,
        help: "Address of your own server. [default: https://api.telegram.org]",
      },
    ],
  },
  email: {
    label: "E-mail",
    about: "E-mail over the server of your mail account.",
    fields: [
      { key: "server", label: "Mail server", placeholder: "smtp.example.org:465" },
      { key: "security", label: "Encryption", input: "security", isOptional: true },
      { key: "user", label: "User name", isOptional: true, help: "[default: no login]" },
      {
        key: "passwordSecret",
        secret: "password",
        label: "Password",
        isOptional: true,
        help: "Some accounts need an app password. Never shown again.",
      },
      { key: "from", label: "Sender", placeholder: "anna@example.org" },
      { key: "to", label: "Recipients", input: "list", help: "One address per line. All of them see each other." },
    ],
  },
  ntfy: {
    label: "ntfy",
    about: "Push messages over ntfy.sh or your own server.",
    fields: [
      { key: "url", label: "Server address", placeholder: "https://ntfy.sh" },
      {
        key: "topicSecret",
        secret: "topic",
        label: "Topic",
        help: "Everybody who knows the topic can read it. Choose a long random one.",
      },
      { key: "tokenSecret", secret: "token", label: "Access token", isOptional: true, help: "[default: none]" },
    ],
  },
  slack: {
    label: "Slack",
    about: "A channel of a Slack workspace, over an incoming webhook.",
    fields: [{ ...webhookAddress, placeholder: "https://hooks.slack.com/services/…" }],
  },
  discord: {
    label: "Discord",
    about: "A text channel of a Discord server, over a webhook.",
    fields: [{ ...webhookAddress, placeholder: "https://discord.com/api/webhooks/…" }],
  },
  webhook: {
    label: "Webhook",
    about: "A signed request to an address of yours.",
    fields: [
      { key: "url", label: "Address", isOptional: true, placeholder: "https://example.org/hooks/rouse" },
      {
        key: "urlSecret",
        secret: "address",
        label: "Secret address",
        isOptional: true,
        help: "Instead of the address, if the address itself is a password. Never shown again.",
      },
      {
        key: "signingSecret",
        secret: "key",
        label: "Signing key",
        help: "whsec_ and the base64 of 24 to 64 random bytes. Never shown again.",
      },
    ],
  },
  apprise: {
    label: "Apprise",
    about: "Over a hundred services, through your own Apprise API server.",
    fields: [
      { key: "url", label: "Address", placeholder: "http://nas.local:8000/notify/home" },
      { key: "tag", label: "Tag", isOptional: true, help: "Services that get messages. [default: all]" },
    ],
  },
  whatsapp: {
    label: "WhatsApp",
    about: "The WhatsApp Cloud API. Costs money and needs an approved template.",
    note:
      "Free text arrives only within 24 hours of your last message to the number that sends. Outside of them, only an " +
      "approved template arrives, and each one costs money. A business number and a payment method are needed.",
    fields: [
      { key: "phoneNumberId", label: "Phone number ID", help: "Of the number that sends, from the app dashboard." },
      {
        key: "tokenSecret",
        secret: "token",
        label: "Access token",
        help: "Of a system user; other tokens end within a day. Never shown again.",
      },
      { key: "to", label: "Recipients", input: "list", help: "One phone number per line, such as +4915112345678." },
      {
        key: "template",
        label: "Template",
        isOptional: true,
        help: "Approved, with one text parameter. [default: none]",
      },
      { key: "templateLanguage", label: "Template language", isOptional: true, help: "[default: en]" },
      {
        key: "url",
        label: "API address",
        isOptional: true,
        help: "[default: https://graph.facebook.com/v23.0]",
      },
    ],
  },
};

/** All kinds, in the order of the choice. */
export const channelKinds = Object.keys(kindSetups) as ChannelKind[];

/** Name of a stored secret of a channel. */
export function secretName(channel: string, end: NonNullable<ChannelField["secret"]>): string {
  return `channel-${channel}-${end}`;
}

/** Names of all secrets that a set-up can have stored for a channel. */
export function secretNames(channel: string): string[] {
  return (["address", "token", "topic", "password", "key"] as const).map((end) => secretName(channel, end));
}
