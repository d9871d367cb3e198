/* Draft of a channel: checks before anything is stored, the table of the settings, the host of the secrets and the
   fields of errors. Pitfall: quoting a typed address in an error; the address of a webhook is a password. */

import { needsRecipient } from "@/domain/channels";
import { secretHost } from "@/features/settings/providerSecret";
import { toSentence } from "@/format/text";
import { type ChannelDetails, type ChannelKind, fieldErrors } from "@/platform";

import { type ChannelField, kindSetups, secretName } from "./channelKinds";

export interface ChannelDraft {
  kind: ChannelKind;
  name: string;
  details: ChannelDetails;
  /** Typed values by key of the settings. */
  values: Readonly<Record<string, string>>;
}

/** Errors by key of the settings or `name`, and an error without a field. */
export interface DraftErrors {
  fields: Readonly<Record<string, string>>;
  other?: string;
}

function typed({ values }: ChannelDraft, key: string): string {
  return values[key]?.trim() ?? "";
}

function lines(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

/** Errors that the engine would find only after the secrets are stored. */
export function draftErrors(draft: ChannelDraft, taken: readonly string[]): Record<string, string> {
  const { kind, name } = draft;
  const { label, fields } = kindSetups[kind];
  const found: Record<string, string> = {};
  for (const { key, isOptional } of fields)
    if (!isOptional && typed(draft, key) === "") found[key] = `This is needed for ${label}.`;
  if (kind === "webhook" && (typed(draft, "url") === "") === (typed(draft, "urlSecret") === ""))
    found.url = "Enter either an address or a secret address.";
  if (kind === "email" && (typed(draft, "user") === "") !== (typed(draft, "passwordSecret") === ""))
    found.user = "Enter both a user name and a password, or neither.";
  for (const key of ["url", "urlSecret"])
    if (typed(draft, key) !== "" && secretHost(typed(draft, key)) === undefined)
      found[key] ??= "Use an address that starts with https:// or http://.";
  if (!/^[a-z0-9-]{1,32}$/.test(name)) found.name = "Use 1 to 32 lowercase letters, digits and -.";
  else if (name === "notification" || name === "last") found.name = `The name ${name} is reserved.`;
  else if (taken.includes(name)) found.name = "This name is taken.";
  return found;
}

/** Table of the settings; has the names of the secrets, never a value. */
export function channelSection(draft: ChannelDraft): Record<string, unknown> {
  const { kind, name, details } = draft;
  const written = (field: ChannelField) => {
    const value = typed(draft, field.key);
    if (field.secret !== undefined) return secretName(name, field.secret);
    return field.input === "list" ? lines(value) : value;
  };
  const entries = kindSetups[kind].fields
    .filter(({ key }) => typed(draft, key) !== "")
    .map((field) => [field.key, written(field)] as const);
  return { kind, ...(details !== "full" && { details }), ...Object.fromEntries(entries) };
}

/** Targets that reach every recipient of a new channel. A bare name of several chats or phone numbers names none. */
export function draftTargets(kind: ChannelKind, name: string, values: ChannelDraft["values"]): string[] {
  const recipients = needsRecipient(kind) ? lines(values.to ?? "") : [];
  return recipients.length < 2 ? [name] : recipients.map((recipient) => `${name}:${recipient}`);
}

export interface DraftSecret {
  /** Key of the settings. */
  key: string;
  name: string;
  value: string;
  host: string;
}

/** Secrets of a draft without errors, each for the host of the channel only. */
export function draftSecrets(draft: ChannelDraft): DraftSecret[] {
  const host = channelHost(draft);
  return kindSetups[draft.kind].fields.flatMap(({ key, secret }) =>
    secret === undefined || typed(draft, key) === ""
      ? []
      : [{ key, name: secretName(draft.name, secret), value: typed(draft, key), host }],
  );
}

function channelHost(draft: ChannelDraft): string {
  const { kind } = draft;
  if (kind === "email") return mailHost(typed(draft, "server"), typed(draft, "security"));
  const fallback = kind === "whatsapp" ? "https://graph.facebook.com" : "https://api.telegram.org";
  const address = [typed(draft, "urlSecret"), typed(draft, "url")].find((one) => one !== "") ?? fallback;
  return secretHost(address) ?? address;
}

/** Host of a mail server, with the usual port of the encryption. `http://` allows sending without encryption. */
function mailHost(server: string, security: string): string {
  const port = security === "starttls" ? 587 : security === "none" ? 25 : 465;
  const prefix = security === "none" ? "http://" : "";
  return `${prefix}${/:\d+$/.test(server) ? server : `${server}:${port}`}`;
}

/** Errors of the engine at their fields. `secretKey` is the field of a refused secret. */
export function placedErrors(error: unknown, draft: ChannelDraft, secretKey?: string): DraftErrors {
  const table = `channels.${draft.name}`;
  const addressKey = draft.kind === "email" ? "server" : "url";
  const keys = kindSetups[draft.kind].fields.map(({ key }) => key);
  const fieldOf = (path: string) => {
    if (path === table) return "name";
    const key = path.startsWith(`${table}.`) ? path.slice(table.length + 1).replace(/\[\d+\]$/, "") : undefined;
    if (key !== undefined) return key === "details" || keys.includes(key) ? key : undefined;
    if (secretKey === undefined) return undefined;
    return path.startsWith("hosts") && keys.includes(addressKey) ? addressKey : secretKey;
  };
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { path, message } of fieldErrors(error)) {
    const field = fieldOf(path);
    if (field === undefined) others.push(toSentence(message));
    else fields[field] ??= toSentence(message);
  }
  if (Object.keys(fields).length + others.length === 0)
    others.push(error instanceof Error ? error.message : String(error));
  return { fields, ...(others.length > 0 && { other: others.join(" ") }) };
}
