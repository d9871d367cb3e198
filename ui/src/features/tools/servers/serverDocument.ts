/* Servers of a pasted document: `mcpServers`, as other apps write it, or an entry of the MCP registry. Reads one server
   or several; a key without a meaning here is named. */

import { isJsonObject, type JsonObject } from "@/format/json";
import type { ServerDefinition } from "@/platform";

import { type EntryServer, readRegistryEntry, registryEntry } from "./registryEntry";
import { nameFrom, namePattern, proposedName, serverFormFrom } from "./serverForm";

export type ServerDocument = { servers: EntryServer[] } | { problem: string };

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
  const entry = registryEntry(document);
  if (entry) return readRegistryEntry(entry);
  const found = serversOf(document);
  if (found.length === 0) return { problem: "The document names no server with `command` or `url`, and no package." };
  const servers: EntryServer[] = [];
  for (const [title, server] of found) {
    if (server.type === "sse")
      return {
        problem: `${title} uses the old transport HTTP+SSE, which Rouse does not support. Use its Streamable HTTP address.`,
      };
    const definition = definitionOf(server);
    if (definition === undefined) return { problem: `${title} needs either \`command\` or \`url\`.` };
    const form = serverFormFrom("", definition);
    const ignored = Object.keys(server).filter((key) => !knownKeys.includes(key) && !silentKeys.includes(key));
    servers.push({
      title,
      form: { ...form, name: nameOf(title, form.source) },
      notes: ignored.length > 0 ? [`Without effect: ${ignored.join(", ")}.`] : [],
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
