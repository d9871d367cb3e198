import { expect, test } from "vitest";

import { errorCode, RpcError } from "@/platform";

import {
  type ChannelDraft,
  channelSection,
  draftErrors,
  draftSecrets,
  draftTargets,
  placedErrors,
} from "./channelDraft";
import { channelKinds, secretNames } from "./channelKinds";

function draft(kind: ChannelDraft["kind"], values: Record<string, string> = {}): ChannelDraft {
  return { kind, name: "desk", details: "full", values };
}

const complete: readonly ChannelDraft[] = [
  draft("telegram", { tokenSecret: "1:AA", to: "7" }),
  draft("email", { server: "smtp.example.org", from: "a@b.org", to: "c@d.org" }),
  draft("ntfy", { url: "https://ntfy.example.org:8443/", topicSecret: "rain" }),
  draft("slack", { urlSecret: "https://hooks.example.org/T/secret?x=1" }),
  draft("discord", { urlSecret: "https://discord.com/api/webhooks/1" }),
  draft("webhook", { url: "http://127.0.0.1:9/x", signingSecret: "whsec_1" }),
  draft("apprise", { url: "http://nas.local:8000/notify/home" }),
  draft("whatsapp", { phoneNumberId: "1", tokenSecret: "t", to: "+4915112345678" }),
];

test("complete draft of each kind has no errors", () => {
  expect(complete.map(({ kind }) => kind)).toEqual(channelKinds);
  for (const one of complete) expect(draftErrors(one, [])).toEqual({});
});

test("secret of each kind is bound to its host only", () => {
  const hosts = complete.map((one) => [one.kind, ...draftSecrets(one).map(({ host }) => host)]);
  expect(hosts).toEqual([
    ["telegram", "api.telegram.org"],
    ["email"],
    ["ntfy", "ntfy.example.org:8443"],
    ["slack", "hooks.example.org"],
    ["discord", "discord.com"],
    ["webhook", "http://127.0.0.1:9"],
    ["apprise"],
    ["whatsapp", "graph.facebook.com"],
  ]);
  for (const { name } of complete.flatMap(draftSecrets)) expect(secretNames("desk")).toContain(name);
});

test.each([
  ["smtp.example.org", "", "smtp.example.org:465"],
  ["smtp.example.org", "starttls", "smtp.example.org:587"],
  ["smtp.example.org:2525", "tls", "smtp.example.org:2525"],
  ["localhost", "none", "http://localhost:25"],
])("password of %j with %j is bound to %j", (server, security, host) => {
  const login = draft("email", { server, security, user: "anna", passwordSecret: "x" });
  expect(draftSecrets(login)).toEqual([{ key: "passwordSecret", name: "channel-desk-password", value: "x", host }]);
});

test("table has the names of secrets and no value", () => {
  const values = { url: " https://ntfy.sh ", topicSecret: "rain", tokenSecret: "" };
  expect(channelSection({ ...draft("ntfy", values), details: "headline" })).toEqual({
    kind: "ntfy",
    details: "headline",
    url: "https://ntfy.sh",
    topicSecret: "channel-desk-topic",
  });
  const mail = draft("email", { server: "s:25", from: "a@b.org", to: "c@d.org\n e@f.org,", security: "none" });
  expect(channelSection(mail)).toMatchObject({ to: ["c@d.org", "e@f.org"], security: "none" });
});

test("missing and contradicting values are named", () => {
  expect(draftErrors(draft("ntfy"), [])).toEqual({
    url: "This is needed for ntfy.",
    topicSecret: "This is needed for ntfy.",
  });
  const both = draft("webhook", { url: "https://a.org", urlSecret: "https://b.org", signingSecret: "k" });
  expect(draftErrors(both, [])).toEqual({ url: "Enter either an address or a secret address." });
  expect(draftErrors(draft("slack", { urlSecret: "hooks.example.org/canary" }), [])).toEqual({
    urlSecret: "Use an address that starts with https:// or http://.",
  });
  const login = draft("email", { server: "s", from: "a@b.org", to: "c@d.org", user: "anna" });
  expect(draftErrors(login, [])).toEqual({ user: "Enter both a user name and a password, or neither." });
});

test.each([
  ["My Phone", /lowercase letters/],
  ["", /lowercase letters/],
  ["last", /is reserved/],
  ["desk", /is taken/],
])("name %j is refused", (name, reason) => {
  expect(draftErrors({ ...complete[0]!, name }, ["desk"]).name).toMatch(reason);
});

test("engine errors are placed at their fields", () => {
  const error = (...paths: string[]) =>
    new RpcError(errorCode.invalidParams, "invalid", { fields: paths.map((path) => ({ path, message: "is wrong" })) });
  const mail = complete[1]!;
  expect(placedErrors(error("channels.desk.to[1]", "channels.desk", "deliverTo[0]"), mail)).toEqual({
    fields: { to: "This is wrong.", name: "This is wrong." },
    other: "This is wrong.",
  });
  expect(placedErrors(error("value"), complete[3]!, "urlSecret").fields).toEqual({ urlSecret: "This is wrong." });
  expect(placedErrors(error("hosts[0]"), mail, "passwordSecret").fields).toEqual({ server: "This is wrong." });
  expect(placedErrors(error("hosts[0]"), complete[3]!, "urlSecret").fields).toEqual({ urlSecret: "This is wrong." });
  expect(placedErrors(new Error("No connection."), mail)).toEqual({ fields: {}, other: "No connection." });
});

test("each of several chats is a target of its own", () => {
  expect(draftTargets("telegram", "phone", { to: "7\n-8" })).toEqual(["phone:7", "phone:-8"]);
  expect(draftTargets("telegram", "phone", { to: "7" })).toEqual(["phone"]);
  expect(draftTargets("email", "mail", { to: "a@b.org\nc@d.org" })).toEqual(["mail"]);
});
