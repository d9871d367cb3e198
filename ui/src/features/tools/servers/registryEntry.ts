/* Servers of an entry of the MCP registry (`server.json`). Fills the form as `rouse mcp add --server-json` does, and
   leaves a value that a person must give empty. Never downloads. */

import { isJsonObject, type JsonObject } from "@/format/json";

import { commandLine } from "./commandLine";
import { emptyServerForm, nameFrom, type ServerForm } from "./serverForm";

export interface EntryServer {
  title: string;
  form: ServerForm;
  /** What the person should know, as sentences. */
  notes: string[];
}

/** The entry of a document; undefined for another document. */
export function registryEntry(document: JsonObject): JsonObject | undefined {
  return [document.server, document]
    .filter(isJsonObject)
    .find((one) => objectsOf(one.packages, one.remotes).length > 0);
}

/** Servers that Rouse can install, or why there is none. */
export function readRegistryEntry(entry: JsonObject): { servers: EntryServer[] } | { problem: string } {
  const name = nameFrom(textOf(entry.name).replace(/^.*\//, ""));
  const servers: EntryServer[] = [];
  const reasons: string[] = [];
  for (const [kind, item] of [
    ...objectsOf(entry.packages).map((item) => ["package", item] as const),
    ...objectsOf(entry.remotes).map((item) => ["remote", item] as const),
  ]) {
    const found = kind === "package" ? packageServer(item, name) : remoteServer(item, name);
    if (typeof found === "string") reasons.push(found);
    else servers.push(found);
  }
  if (servers.length > 0) return { servers };
  return { problem: `The entry has nothing that Rouse can install. ${reasons.join(" ")}` };
}

function packageServer(item: JsonObject, name: string): EntryServer | string {
  const identifier = textOf(item.identifier);
  const version = textOf(item.version);
  const registry = textOf(item.registryBaseUrl).replace(/\/+$/, "");
  const transport = isJsonObject(item.transport) ? textOf(item.transport.type) : "stdio";
  if (transport !== "stdio") return `${identifier} is started for ${transport}; Rouse starts stdio servers.`;
  const kind = textOf(item.registryType);
  if (kind === "mcpb") return `${identifier} is a bundle: download the file, then add its path.`;
  if (kind !== "npm" && kind !== "pypi") return `${identifier} is of the type ${kind}.`;
  const notes =
    registry === ""
      ? []
      : [`The entry names the package registry ${registry}. Rouse uses the registry of your npm or pip settings.`];
  const source = `${identifier}${kind === "npm" ? "@" : "=="}${version}`;
  const form = {
    ...emptyServerForm,
    name,
    source: `${kind}:${source}`,
    words: commandLine(argumentsOf(objectsOf(item.packageArguments), notes)),
    pairs: valueLines("variable", objectsOf(item.environmentVariables), name, notes).join("\n"),
  };
  return { title: `${kind} ${source}`, form, notes };
}

function remoteServer(item: JsonObject, name: string): EntryServer | string {
  const kind = textOf(item.type);
  const url = textOf(item.url);
  if (kind !== "streamable-http") return `A remote uses ${kind}; Rouse supports streamable-http.`;
  const notes = hasTemplate(url) ? ["Fill in the places in braces of the address."] : [];
  const pairs = valueLines("header", objectsOf(item.headers), name, notes).join("\n");
  return { title: url, form: { ...emptyServerForm, name, kind: "url", source: url, pairs }, notes };
}

/** Lines of variables or headers: the fixed value, the handle of a secret, the default, or an empty value. */
function valueLines(what: "variable" | "header", inputs: JsonObject[], server: string, notes: string[]): string[] {
  return inputs.flatMap((input) => {
    const name = textOf(input.name);
    const line = (value: string) => [`${name}${what === "header" ? ": " : "="}${value}`];
    const fixed = textOf(input.value);
    if (fixed !== "" && !hasTemplate(fixed)) return line(fixed);
    if (input.isSecret === true && input.isRequired === true) return line(`{{secret:${secretName(server, name)}}}`);
    if (input.isSecret === true) {
      notes.push(`The ${what} ${name} is an optional secret and left out.`);
      return [];
    }
    if (input.default !== undefined) return line(textOf(input.default));
    if (input.isRequired !== true) return [];
    notes.push(`The ${what} ${name} needs a value.`);
    return line("");
  });
}

function secretName(server: string, input: string): string {
  const clean = input.toLowerCase().replace(/[^a-z0-9_]/g, "_");
  return `${server.replaceAll("-", "_")}_${clean.slice(0, 40)}`;
}

/** Arguments with a known value. Optional ones without a value are left out. */
function argumentsOf(inputs: JsonObject[], notes: string[]): string[] {
  return inputs.flatMap((input) => {
    const flag = input.type === "named" ? [textOf(input.name)] : [];
    const value = textOf(input.value ?? input.default);
    if (value !== "" && !hasTemplate(value)) return [...flag, value];
    if (input.isRequired !== true) return [];
    const label = textOf(input.name) === "" ? textOf(input.valueHint) : textOf(input.name);
    if (flag.length > 0 && value === "") return flag;
    notes.push(`The argument ${label} needs a value.`);
    return flag;
  });
}

function hasTemplate(text: string): boolean {
  return /\{[^}]*\}/.test(text);
}

function objectsOf(...lists: unknown[]): JsonObject[] {
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []));
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
