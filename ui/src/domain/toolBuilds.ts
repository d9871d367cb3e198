/* Versions of built tools: groups, labels and permissions. The texts come from models, so callers mark invisible
   characters. */

import { plural } from "@/format/amount";
import { isJsonObject } from "@/format/json";
import type { ToolBuild, ToolBuildSummary, ToolFileAccess, ToolLanguage, ToolTestResult } from "@/platform";

/** A built tool with its listed versions. */
export interface BuiltToolGroup {
  name: string;
  description: string | null;
  /** The version checked last first. */
  versions: ToolBuildSummary[];
}

/** Versions by tool; keeps the order of the list. */
export function groupBuilds(builds: readonly ToolBuildSummary[]): BuiltToolGroup[] {
  const tools = new Map<string, BuiltToolGroup>();
  for (const build of builds) {
    const { name, description } = build;
    const tool = tools.get(name) ?? { name, description: null, versions: [] };
    tool.description ??= description;
    tool.versions.push(build);
    tools.set(name, tool);
  }
  return [...tools.values()];
}

export const languageLabels: Record<ToolLanguage, string> = { javascript: "JavaScript", rust: "Rust" };

/** Access of a tool to its own folder. */
export const ownFilesLabels: Record<ToolFileAccess, string> = {
  none: "None",
  read: "Reads its own folder",
  write: "Reads and writes its own folder",
};

/** The engine leaves out an empty log. */
export type ShownTest = Omit<ToolTestResult, "log"> & { log?: readonly string[] };

/** `3 of 3 tests passed`, or why none ran. */
export function testsLabel({ tests, passedTests, errors }: Pick<ToolBuildSummary, "tests" | "passedTests" | "errors">) {
  if (errors > 0) return plural(errors, "error");
  return tests === 0 ? "No tests" : `${passedTests} of ${plural(tests, "test")} passed`;
}

/** Counts of a version with its tests. */
export function testCounts({ tests, errors }: { tests: readonly ShownTest[]; errors: readonly string[] }) {
  return { tests: tests.length, passedTests: tests.filter(({ passed }) => passed).length, errors: errors.length };
}

/** Short form of a hash. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12);
}

/** A version from untrusted input that is not installed. */
export function isUntrustedBuild({ isTainted, state }: Pick<ToolBuild, "isTainted" | "state">): boolean {
  return isTainted && state !== "accepted";
}

/** Facts and permissions of a manifest. */
export interface ToolManifestFacts {
  description: string | null;
  version: string | null;
  isReadOnly: boolean;
  hosts: string[];
  secrets: string[];
  files: ToolFileAccess;
}

/** Undefined without a valid manifest. */
export function manifestFacts(manifest: unknown): ToolManifestFacts | undefined {
  if (!isJsonObject(manifest)) return undefined;
  const { description, version, readsOnly, permissions } = manifest;
  const { hosts, secrets, files } = isJsonObject(permissions) ? permissions : {};
  return {
    description: textOf(description),
    version: textOf(version),
    isReadOnly: readsOnly === true,
    hosts: textsOf(hosts),
    secrets: textsOf(secrets),
    files: files === "read" || files === "write" ? files : "none",
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
