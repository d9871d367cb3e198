/* Servers of a pasted `mcpServers` document, as other apps write it. Reads one server or several; a key without a
   meaning here is named. */

import { isJsonObject, type JsonObject } from "@/format/json";
import type { ServerDefinition } from "@/platform";

import { nameFrom, namePattern, proposedName, type ServerForm, serverFormFrom } from "./serverForm";

export interface DocumentServer {
  /** Name in the document. */
  title: string;
  form: ServerForm;
  /** Keys without effect. */
  ignored: string[];
}

export type ServerDocument = { servers: DocumentServer[] } | { problem: string };

/** Keys that change nothing, and are not worth a note. */
const silentKeys = ["type", "name", "description", "disabled", "autoApprove", "alwaysAllow", "timeout", "icon"];
const knownKeys = ["command", "args", "env", "cwd", "url", "serverUrl", "headers"];

/** True if the text is meant as a document. */
export function isDocument(text: string): boolean {
  return /^\s*(\{|"[^"]*"\s*:)/.test(text);
}

export function readServerDocument(text: string): ServerDocument {
  const document = parse(text);
  if (document === undefined) return { problem: "This is not a valid JSON document. Paste the whole document." };
  const found = serversOf(document);
  if (found.length === 0) return { problem: "The document names no server with `command` or `url`." };
  const servers: DocumentServer[] = [];
  for (const [title, server] of found) {
    if (server.type === "sse")
      return {
        problem: `${title} uses the old transport HTTP+SSE, which Rouse does not support. Use its Streamable HTTP address.`,
      };
    const definition = definitionOf(server);
    if (definition === undefined) return { problem: `${title} needs either \`command\` or \`url\`.` };
    const form = serverFormFrom("", definition);
    servers.push({
      title,
      form: { ...form, name: nameOf(title, form.source) },
      ignored: Object.keys(server).filter((key) => !knownKeys.includes(key) && !silentKeys.includes(key)),
    });
  }
  return { servers };
}

function nameOf(title: string, source: string): string {
  if (namePattern.test(title)) return title;
  return title === "" ? proposedName(source, undefined) : nameFrom(title);
}

/** Also accepts a part of a document, such as `"cal": { … }`, and a trailing comma. */
function parse(text: string): JsonObject | undefined {
  const trimmed = text.trim().replace(/,$/, "");
  for (const candidate of [trimmed, `{${trimmed}}`]) {
    try {
      const value = JSON.parse(candidate) as unknown;
      if (isJsonObject(value)) return value;
    } catch {
      // The next candidate may be valid.
    }
  }
  return undefined;
}

function serversOf(document: JsonObject): [string, JsonObject][] {
  const list = [document.mcpServers, document.servers].find(isJsonObject);
  if (!list && isServer(document)) return [["", document]];
  return Object.entries(list ?? document).filter((entry): entry is [string, JsonObject] => isServer(entry[1]));
}

function isServer(value: unknown): value is JsonObject {
  return isJsonObject(value) && ["command", "url", "serverUrl"].some((key) => typeof value[key] === "string");
}

function definitionOf({ command, args, env, cwd, url, serverUrl, headers }: JsonObject): ServerDefinition | undefined {
  const address = url ?? serverUrl;
  if (typeof command === "string" && address === undefined)
    return {
      transport: {
        kind: "stdio",
        command,
        arguments: Array.isArray(args) ? args.map(String) : [],
        environment: textsOf(env),
        ...(typeof cwd === "string" && { folder: cwd }),
        folders: [],
        hosts: [],
        isUnconfined: false,
      },
    };
  if (typeof address === "string" && command === undefined)
    return { transport: { kind: "http", url: address, headers: textsOf(headers) } };
  return undefined;
}

function textsOf(pairs: unknown): Record<string, string> {
  return isJsonObject(pairs)
    ? Object.fromEntries(Object.entries(pairs).map(([name, value]) => [name, String(value)]))
    : {};
}
