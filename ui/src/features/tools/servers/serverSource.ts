/* Sources of a server: a command, a URL, or a package. Detects the kind of a typed or pasted text. The engine checks
   names and versions. Pitfall: a path to a program and a path to a folder look the same; only a final `/` tells. */

import type { ExtensionSource } from "@/platform";

import { commandLine, splitCommandLine, withoutVariables } from "./commandLine";

export type SourceKind = "command" | "url" | "npm" | "pypi" | "mcpb" | "folder";

/** True if the source is the URL of a server that runs elsewhere. */
export function isUrl(source: string): boolean {
  return /^https?:\/\/\S*$/i.test(source.trim());
}

export function detectKind(source: string): SourceKind {
  const text = source.trim();
  if (isUrl(text)) return "url";
  if (/^npm:/i.test(text) || /^(@[\w.~-]+\/[\w.~-]+(@\S*)?|[\w.~-]+@\S+)$/.test(text)) return "npm";
  if (/^pypi:/i.test(text) || /^[\w.-]+==\S*$/.test(text)) return "pypi";
  const isPath = /^["']?(~?[\\/]|[a-z]:[\\/]|file:\/\/)/i.test(text);
  if (/\.mcpb["']?$/i.test(text) && (isPath || !/\s/.test(text))) return "mcpb";
  return isPath && /[\\/]["']?$/.test(text) ? "folder" : "command";
}

export interface PackageSpec {
  name: string;
  /** Empty without one. */
  version: string;
}

/** Splits `npm:NAME@VERSION` and `pypi:NAME==VERSION`; the prefix is optional. */
export function packageSpec(kind: "npm" | "pypi", source: string): PackageSpec {
  const text = source.trim().replace(/^(npm|pypi):\s*/i, "");
  const separator = kind === "pypi" && text.includes("==") ? "==" : "@";
  const at = text.lastIndexOf(separator);
  // The `@` of a scope begins the name.
  if (at < 1) return { name: text, version: "" };
  return { name: text.slice(0, at).trim(), version: text.slice(at + separator.length).trim() };
}

/** Path of a typed or pasted text: without quotes, `file://` and a final `/`. */
export function pathOf(source: string, home: string | undefined): string {
  const text = source
    .trim()
    .replace(/^(["'])(.*)\1$/, "$2")
    .replace(/^file:\/\//i, "");
  const path = /^~(?=[\\/]|$)/.test(text) ? (home ?? "~") + text.slice(1) : text;
  return path.replace(/(?<=[^\\/:])[\\/]+$/, "");
}

export function isAbsolutePath(path: string): boolean {
  return /^([\\/]|[a-z]:[\\/])/i.test(path);
}

/** Source as the form shows it. */
export function sourceText(source: ExtensionSource): string {
  switch (source.kind) {
    case "npm":
      return `npm:${source.package}@${source.version}`;
    case "pypi":
      return `pypi:${source.package}==${source.version}`;
    case "mcpb":
      return source.file;
    case "folder":
    case "tool":
      return source.path;
  }
}

/** Package that a command would load at each start. */
export interface PackageOffer {
  /** Program that loads the package, such as `npx`. */
  runner: string;
  kind: "npm" | "pypi";
  spec: PackageSpec;
  /** Source, arguments, program and variables of the package. */
  source: string;
  words: string;
  program: string;
  variables: Record<string, string>;
}

const runners: readonly { words: readonly string[]; kind: "npm" | "pypi" }[] = [
  { words: ["npx"], kind: "npm" },
  { words: ["bunx"], kind: "npm" },
  { words: ["npm", "exec"], kind: "npm" },
  { words: ["pnpm", "dlx"], kind: "npm" },
  { words: ["yarn", "dlx"], kind: "npm" },
  { words: ["uvx"], kind: "pypi" },
  { words: ["uv", "tool", "run"], kind: "pypi" },
  { words: ["pipx", "run"], kind: "pypi" },
];

const packageFlag = /^(?:-p|--package|--from|--spec)(?:=(.*))?$/;

/** The package of a command such as `npx -y NAME@1.2.3`; undefined for other commands. */
export function packageOffer(source: string, home: string | undefined): PackageOffer | undefined {
  const { variables, words } = withoutVariables(splitCommandLine(source, home) ?? []);
  const names = words.map((word) => word.replace(/^.*[\\/]/, "").replace(/\.(exe|cmd)$/i, ""));
  const runner = runners.find((one) => one.words.every((word, at) => word === names[at]));
  if (!runner) return undefined;
  let flagged: string | undefined;
  let at = runner.words.length;
  for (; words[at]?.startsWith("-"); at += 1) {
    const flag = words[at] ?? "";
    const named = packageFlag.exec(flag);
    if (named) flagged = named[1] ?? words[(at += 1)];
    else if (!["-y", "--yes", "-q", "--quiet", "--"].includes(flag)) return undefined;
  }
  const { kind } = runner;
  const [first = "", ...rest] = words.slice(at);
  const spec = packageSpec(kind, flagged ?? first);
  // Also an address or a path can stand there.
  if (!/^(@[\w.~-]+\/)?[\w.~-]+$/.test(spec.name)) return undefined;
  const separator = kind === "npm" ? "@" : "==";
  return {
    runner: runner.words.join(" "),
    kind,
    spec,
    source: `${kind}:${spec.name}${spec.version === "" ? "" : separator + spec.version}`,
    words: commandLine(rest),
    program: flagged === undefined ? "" : first,
    variables,
  };
}
