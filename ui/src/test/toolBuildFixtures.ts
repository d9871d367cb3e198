/* Versions of built tools as the gateway sends them. */

import type { ToolBuild, ToolBuildDetail, ToolBuildSummary } from "@/platform";

import { noon } from "./noon";

/** SHA-256 of the newest version of `weather`. */
export const newestHash = "ab".repeat(32);

/** SHA-256 of its installed version. */
export const installedHash = "cd".repeat(32);

export function aBuildSummary(parts: Partial<ToolBuildSummary> = {}): ToolBuildSummary {
  return {
    name: "weather",
    hash: newestHash,
    description: "Tells the weather of a city.",
    version: "1.1.0",
    language: "javascript",
    state: "passed",
    tests: 3,
    passedTests: 3,
    errors: 0,
    isTainted: false,
    runId: "run-7",
    checkedAtMs: noon,
    ...parts,
  };
}

export function aBuild(parts: Partial<ToolBuild> = {}): ToolBuild {
  return {
    name: "weather",
    hash: newestHash,
    language: "javascript",
    engine: "wasmtime",
    engineVersion: "38.0.3",
    tests: [
      { name: "sunny city", passed: true, log: [] },
      { name: "unknown city", passed: true, log: ["no such city"] },
    ],
    errors: [],
    files: [
      { path: "tool.toml", text: 'name = "weather"\n', bytes: 17 },
      { path: "tool.js", text: "export function run() {}\n", bytes: 25 },
    ],
    manifest: {
      name: "weather",
      description: "Tells the weather of a city.",
      version: "1.1.0",
      readsOnly: true,
      permissions: { hosts: ["api.example.com"], secrets: ["WEATHER_KEY"], files: "none" },
    },
    runId: "run-7",
    isTainted: false,
    checkedAtMs: noon,
    state: "passed",
    ...parts,
  };
}

type BuildDetailParts = Partial<Omit<ToolBuildDetail, "build">> & { build?: Partial<ToolBuild> };

export function aBuildDetail({ build, ...parts }: BuildDetailParts = {}): ToolBuildDetail {
  return {
    reach: "It may reach api.example.com only.",
    versions: [aBuildSummary()],
    folder: "/home/ada/tools/weather",
    ...parts,
    build: aBuild(build),
  };
}
