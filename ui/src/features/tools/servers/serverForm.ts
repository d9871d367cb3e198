/* Form of a server definition, and the conversion from and to the definition. The engine checks the values. */

import type { ServerDefinition } from "@/platform";

import { commandLine, splitCommandLine } from "./commandLine";

export interface ServerForm {
  name: string;
  /** Command line or URL. */
  source: string;
  /** `NAME=value` variables, or `Name: value` headers with a URL; one per line. */
  pairs: string;
  /** Working directory. */
  folder: string;
  folders: string;
  hosts: string;
  isUnconfined: boolean;
  startSeconds: number | null;
  callSeconds: number | null;
}

export type FormProblems = Partial<Record<keyof ServerForm, string>>;

export const emptyServerForm: ServerForm = {
  name: "",
  source: "",
  pairs: "",
  folder: "",
  folders: "",
  hosts: "",
  isUnconfined: false,
  startSeconds: null,
  callSeconds: null,
};

export const namePattern = /^[a-z][a-z0-9-]{0,19}$/;

/** True if the source is the URL of a server that runs elsewhere. */
export function isUrl(source: string): boolean {
  return /^https?:\/\/\S*$/i.test(source.trim());
}

/** Definition of the form, or the problems of its fields. */
export function definitionFrom(
  form: ServerForm,
  home: string | undefined,
): { definition: ServerDefinition } | { problems: FormProblems } {
  const problems: FormProblems = {};
  if (!namePattern.test(form.name))
    problems.name = "Use 1 to 20 lowercase letters, digits and -, beginning with a letter.";
  const isRemote = isUrl(form.source);
  const pairs = readPairs(form.pairs, isRemote ? ":" : "=");
  if (typeof pairs === "string") problems.pairs = pairs;
  const words = isRemote ? [] : splitCommandLine(form.source, home);
  if (words === undefined) problems.source = "A quotation mark has no end.";
  const { variables, command, programArguments } = withoutVariables(words ?? []);
  if (!isRemote && words !== undefined && command === undefined) problems.source = "Add a command or a URL.";
  if (Object.keys(problems).length > 0 || typeof pairs === "string") return { problems };
  const transport: ServerDefinition["transport"] = isRemote
    ? { kind: "http", url: form.source.trim(), headers: pairs }
    : {
        kind: "stdio",
        command: command ?? "",
        arguments: programArguments,
        environment: { ...variables, ...pairs },
        ...(form.folder.trim() !== "" && { folder: form.folder.trim() }),
        folders: linesOf(form.folders),
        hosts: form.hosts.split(/[\s,]+/).filter((host) => host !== ""),
        isUnconfined: form.isUnconfined,
      };
  return {
    definition: {
      transport,
      ...(form.startSeconds !== null && { startTimeoutSeconds: form.startSeconds }),
      ...(form.callSeconds !== null && { callTimeoutSeconds: form.callSeconds }),
    },
  };
}

/** Splits variables before the program off, as in `TOKEN=x server`. */
function withoutVariables(words: readonly string[]) {
  const isVariable = (word: string) => /^[A-Za-z_]\w*=/.test(word);
  const first = words.findIndex((word) => !isVariable(word));
  const count = first === -1 ? words.length : first;
  const variables = Object.fromEntries(words.slice(0, count).map((word) => splitAt(word, "=")));
  const [command, ...programArguments] = words.slice(count);
  return { variables, command, programArguments };
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

export function serverFormFrom(name: string, server: ServerDefinition): ServerForm {
  const { transport, startTimeoutSeconds, callTimeoutSeconds } = server;
  const limits = { startSeconds: startTimeoutSeconds ?? null, callSeconds: callTimeoutSeconds ?? null };
  if (transport.kind === "http") {
    const pairs = pairLines(transport.headers, ": ");
    return { ...emptyServerForm, ...limits, name, source: transport.url, pairs };
  }
  return {
    ...limits,
    name,
    source: commandLine([transport.command, ...transport.arguments]),
    pairs: pairLines(transport.environment, "="),
    folder: transport.folder ?? "",
    folders: transport.folders.join("\n"),
    hosts: transport.hosts.join("\n"),
    isUnconfined: transport.isUnconfined,
  };
}

function pairLines(pairs: Record<string, string>, separator: string): string {
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

/** Proposed name: the package, program or host. */
export function proposedName(source: string, home: string | undefined): string {
  const word = isUrl(source) ? hostWord(source) : packageWord(splitCommandLine(source, home) ?? []);
  return nameFrom(word.replace(/(?<=.)@[^@/]*$/, "").replace(/^.*[\\/]/, ""));
}

/** Valid name close to `word`, without the usual beginnings and endings; empty if nothing is left. */
export function nameFrom(word: string): string {
  const parts = word
    .toLowerCase()
    .replace(/\.(exe|js|mjs|cjs|py|sh)$/, "")
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
