/* Form of a definition with its package, of an MCP server or a coding agent, and the conversion from and to both. The engine checks the values. */

import type { ExtensionSource, InstalledPackage, ServerDefinition } from "@/platform";

import { commandLine, splitCommandLine, withoutVariables } from "./commandLine";
import { detectKind, isAbsolutePath, isUrl, packageSpec, pathOf, type SourceKind, sourceText } from "./serverSource";

type HttpTransport = Extract<ServerDefinition["transport"], { kind: "http" }>;

export interface ServerForm {
  name: string;
  /** Kind that the person chose; null as detected from the source. */
  kind: SourceKind | null;
  /** Command line, URL, package with its version, or path. */
  source: string;
  /** Arguments after those of a package; the whole command of a folder. */
  words: string;
  /** Program of a package with several programs. */
  program: string;
  /** Path of Node.js or Python. */
  runtime: string;
  /** `KEY=VALUE` settings of a bundle, one per line. */
  config: string;
  /** `NAME=value` variables, or `Name: value` headers with a URL; one per line. */
  pairs: string;
  /** Working directory. */
  folder: string;
  folders: string;
  hosts: string;
  isUnconfined: boolean;
  startSeconds: number | null;
  callSeconds: number | null;
  /** The definition is of a coding agent. */
  isAgent: boolean;
  /** Session mode of a coding agent. */
  mode: string;
  /** Client of a sign-in, which the form does not show. */
  oauth?: HttpTransport["oauth"];
}

export type FormProblems = Partial<Record<keyof ServerForm, string>>;

export interface RequestedServer {
  definition: ServerDefinition;
  /** Package; undefined for a command or a URL. */
  source?: ExtensionSource;
}

export const emptyServerForm: ServerForm = {
  name: "",
  kind: null,
  source: "",
  words: "",
  program: "",
  runtime: "",
  config: "",
  pairs: "",
  folder: "",
  folders: "",
  hosts: "",
  isUnconfined: false,
  startSeconds: null,
  callSeconds: null,
  isAgent: false,
  mode: "",
};

export const namePattern = /^[a-z][a-z0-9-]{0,19}$/;

export function kindOf({ kind, source }: Pick<ServerForm, "kind" | "source">): SourceKind {
  return kind ?? detectKind(source);
}

/** Definition and package of the form, or the problems of its fields. */
export function definitionFrom(
  form: ServerForm,
  home: string | undefined,
): RequestedServer | { problems: FormProblems } {
  const problems: FormProblems = {};
  const kind = kindOf(form);
  if (!namePattern.test(form.name))
    problems.name = "Use 1 to 20 lowercase letters, digits and -, beginning with a letter.";
  const pairs = readPairs(form.pairs, kind === "url" ? ":" : "=");
  if (typeof pairs === "string") problems.pairs = pairs;
  const transport = kind === "url" ? httpTransport(form, problems) : stdioTransport(form, kind, home, problems);
  const source = packageSource(form, kind, home, problems);
  if (Object.keys(problems).length > 0 || typeof pairs === "string") return { problems };
  if (transport.kind === "http") transport.headers = pairs;
  else if (transport.kind === "stdio") transport.environment = { ...transport.environment, ...pairs };
  const definition: ServerDefinition = {
    transport,
    ...(form.isAgent && { protocol: "acp" as const }),
    ...(form.isAgent && form.mode.trim() !== "" && { mode: form.mode.trim() }),
    ...(form.startSeconds !== null && { startTimeoutSeconds: form.startSeconds }),
    ...(form.callSeconds !== null && { callTimeoutSeconds: form.callSeconds }),
  };
  return source ? { definition, source } : { definition };
}

function httpTransport({ source, oauth }: ServerForm, problems: FormProblems): HttpTransport {
  if (!isUrl(source)) problems.source = "Add an address that begins with https:// or http://.";
  return { kind: "http", url: source.trim(), headers: {}, ...(oauth && { oauth }) };
}

/** Transport with the variables of the command line only. */
function stdioTransport(
  form: ServerForm,
  kind: SourceKind,
  home: string | undefined,
  problems: FormProblems,
): Exclude<ServerDefinition["transport"], HttpTransport> {
  const line = kind === "command" ? "source" : "words";
  const split = splitCommandLine(form[line], home);
  if (split === undefined) problems[line] = "A quotation mark has no end.";
  const isCommand = kind === "command" || kind === "folder";
  const { variables, words } = isCommand ? withoutVariables(split ?? []) : { variables: {}, words: split ?? [] };
  if (isCommand && split !== undefined && words.length === 0)
    problems[line] =
      form.isAgent && kind === "command"
        ? "Add the command of the agent, such as my-agent --acp."
        : kind === "command"
          ? "Add a package with a version, a command or a URL."
          : "Add the program with arguments, such as node dist/index.js.";
  const [command = "", ...rest] = isCommand ? words : [kind === "mcpb" ? "" : form.runtime.trim(), ...words];
  return {
    kind: "stdio",
    command,
    arguments: rest,
    environment: variables,
    // The engine starts the program of a folder there.
    ...(form.folder.trim() !== "" && kind !== "folder" && { folder: form.folder.trim() }),
    folders: linesOf(form.folders),
    hosts: form.hosts.split(/[\s,]+/).filter((host) => host !== ""),
    isUnconfined: form.isUnconfined,
  };
}

function packageSource(
  form: ServerForm,
  kind: SourceKind,
  home: string | undefined,
  problems: FormProblems,
): ExtensionSource | undefined {
  if (kind === "npm" || kind === "pypi") {
    const { name, version } = packageSpec(kind, form.source);
    const program = form.program.trim();
    if (name === "")
      problems.source = `Add a package with its version, such as ${kind === "npm" ? "name@1.2.3" : "name==1.2.3"}.`;
    return { kind, package: name, version, ...(program !== "" && { program }) };
  }
  if (kind !== "mcpb" && kind !== "folder") return undefined;
  const path = pathOf(form.source, home);
  if (!isAbsolutePath(path)) problems.source = "Write the absolute path, which begins with / or a drive.";
  if (kind === "folder") return { kind, path };
  const config = readSettings(form.config);
  if (config === undefined) problems.config = "Expected KEY=VALUE on each line.";
  return { kind, file: path, config: config ?? {} };
}

/** Values by key; a key on several lines has several values. Undefined if a line has no `=`. */
function readSettings(text: string): Record<string, string[]> | undefined {
  const settings: Record<string, string[]> = {};
  for (const line of linesOf(text)) {
    const [key, value] = splitAt(line, "=");
    if (!line.includes("=")) return undefined;
    (settings[key.trim()] ??= []).push(value);
  }
  return settings;
}

/** Names and values, or the problem. */
function readPairs(text: string, separator: "=" | ":"): Record<string, string> | string {
  const lines = linesOf(text);
  const wrong = lines.find((line) => !line.includes(separator));
  if (wrong !== undefined)
    return `Expected ${separator === "=" ? "NAME=value" : "Name: value"} on each line, found “${wrong}”.`;
  return Object.fromEntries(
    lines.map((line) => {
      const [name, value] = splitAt(line, separator);
      // A header has a space after the colon.
      return [name.trim(), separator === ":" ? value.trim() : value];
    }),
  );
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + 1)];
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Form of an installed server. A package gives what the person wrote. */
export function serverFormFrom(name: string, server: ServerDefinition, installed?: InstalledPackage): ServerForm {
  const { transport, protocol, mode = "", startTimeoutSeconds, callTimeoutSeconds } = installed?.draft ?? server;
  const limits = { startSeconds: startTimeoutSeconds ?? null, callSeconds: callTimeoutSeconds ?? null };
  const form = { ...emptyServerForm, ...limits, isAgent: protocol === "acp", mode, name };
  if (transport.kind === "http") {
    const { url, headers, oauth } = transport;
    return { ...form, source: url, pairs: pairLines(headers, ": "), ...(oauth && { oauth }) };
  }
  // A tool of Rouse's own sandbox has no form: its folder says everything.
  if (transport.kind === "wasm") return { ...form, hosts: transport.hosts.join("\n") };
  const stdio = {
    ...form,
    pairs: pairLines(transport.environment, "="),
    folder: transport.folder ?? "",
    folders: transport.folders.join("\n"),
    hosts: transport.hosts.join("\n"),
    isUnconfined: transport.isUnconfined,
  };
  const whole = commandLine([transport.command, ...transport.arguments]);
  if (!installed) return { ...stdio, source: whole, kind: detectKind(whole) === "command" ? null : "command" };
  const { source } = installed;
  return {
    ...stdio,
    kind: source.kind === "tool" ? "folder" : source.kind,
    source: sourceText(source),
    ...(source.kind === "folder"
      ? { words: whole }
      : { words: commandLine(transport.arguments), runtime: transport.command }),
    ...((source.kind === "npm" || source.kind === "pypi") && { program: source.program ?? "" }),
    ...(source.kind === "mcpb" && { config: settingLines(source).join("\n") }),
  };
}

/** `KEY=VALUE` lines of a bundle's settings. A bundle without settings has no `config`. */
export function settingLines({ config }: { config?: Record<string, readonly string[]> }): string[] {
  return Object.entries(config ?? {}).flatMap(([key, values]) => values.map((value) => `${key}=${value}`));
}

export function pairLines(pairs: Record<string, string>, separator: string): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}${separator}${value}`)
    .join("\n");
}

/** Variables or headers whose plain value looks like a secret or has a placeholder of another app. */
export function pairsWarning(pairs: string): string | undefined {
  const placed = /^\s*([^=:\s]+)\s*[=:].*(\$\{[^}]*\})/m.exec(pairs);
  if (placed) return `${placed[1] ?? ""} has the placeholder ${placed[2] ?? ""}, which Rouse does not fill in.`;
  const secret = /^\s*([^=:\s]*(?:token|secret|password|api_?key|authorization)[^=:\s]*)\s*[=:](?!.*\{\{secret:).*\S/im;
  const named = secret.exec(pairs);
  return named
    ? `${named[1] ?? ""} looks like a secret, and would be stored as plain text. Write {{secret:NAME}} instead; the next page asks for its value.`
    : undefined;
}

/** Proposed name: the package, program, folder or host. */
export function proposedName(source: string, home: string | undefined): string {
  return nameFrom(sourceWord(source, home).replace(/^.*[\\/]/, ""));
}

function sourceWord(source: string, home: string | undefined): string {
  const kind = detectKind(source);
  if (kind === "url") return hostWord(source);
  if (kind === "npm" || kind === "pypi") return packageSpec(kind, source).name;
  if (kind === "mcpb" || kind === "folder") return pathOf(source, home);
  return packageWord(splitCommandLine(source, home) ?? []).replace(/(?<=.)(==.*|@[^@/]*)$/, "");
}

/** Valid name close to `word`, without the usual beginnings and endings; empty if nothing is left. */
export function nameFrom(word: string): string {
  const parts = word
    .toLowerCase()
    .replace(/\.(exe|js|mjs|cjs|py|sh|mcpb)$/, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "");
  const short = parts.replace(/^(mcp-server|server|mcp)-/, "").replace(/-(mcp-server|server|mcp)$/, "");
  return short
    .replace(/^[^a-z]+/, "")
    .slice(0, 20)
    .replace(/-+$/, "");
}

/** Programs that take a package or script as their first argument. */
const runners = /(^|[\\/])(npx|bunx|uvx|pipx|node|python3?|deno|bun|uv|docker|podman)(\.exe|\.cmd)?$/i;

function packageWord(words: readonly string[]): string {
  const [program = "", ...rest] = words.filter((word) => !/^[A-Za-z_]\w*=/.test(word));
  if (!runners.test(program)) return program;
  return rest.find((word) => !word.startsWith("-") && !/^(run|exec|tool|x)$/.test(word)) ?? program;
}

function hostWord(source: string): string {
  if (!URL.canParse(source.trim())) return "";
  const labels = new URL(source.trim()).hostname.split(".");
  return labels.length > 1 ? (labels.at(-2) ?? "") : (labels[0] ?? "");
}
