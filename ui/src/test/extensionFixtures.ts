/* MCP servers, coding agents and their pages as the gateway sends them. */

import type {
  AgentPresetView,
  ExtensionDetail,
  ExtensionView,
  InstalledPackage,
  ServerDefinition,
  ServerToolsPage,
  ToolDefinition,
} from "@/platform";

import { noon } from "./noon";

type StdioTransport = Extract<ServerDefinition["transport"], { kind: "stdio" }>;

export function aDefinition(parts: Partial<StdioTransport> = {}): ServerDefinition {
  return {
    transport: {
      kind: "stdio",
      command: "/usr/bin/cal-server",
      arguments: ["--stdio"],
      environment: {},
      folders: [],
      hosts: [],
      isUnconfined: false,
      ...parts,
    },
  };
}

/** Proposal for Claude Code, which is also an npm package. */
export function aPreset(
  parts: Partial<AgentPresetView> = {},
  transport: Partial<StdioTransport> = {},
): AgentPresetView {
  return {
    name: "claude-code",
    label: "Claude Code",
    server: {
      ...aDefinition({
        command: "claude-agent-acp",
        arguments: [],
        environment: { CLAUDE_CONFIG_DIR: "~/.claude" },
        folders: ["~/.claude:write"],
        hosts: ["api.anthropic.com", "claude.ai"],
        ...transport,
      }),
      protocol: "acp",
      mode: "default",
    },
    source: { kind: "npm", package: "@acp/claude", version: "0.101.0", program: "claude-agent-acp" },
    signIn: "Sign in once with `claude`.",
    unasked: "It asks before it changes files.",
    ...parts,
  };
}

/** npm package `@x/cal` 1.2.3. */
export function aPackage(parts: Partial<InstalledPackage> = {}): InstalledPackage {
  return {
    source: { kind: "npm", package: "@x/cal", version: "1.2.3", integrity: "sha512-x" },
    draft: aDefinition({ command: "", arguments: ["--stdio"] }),
    files: { sha256: "ef".repeat(32), files: 812, bytes: 4_200_000 },
    components: [],
    ...parts,
  };
}

export function aToolDefinition(parts: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name: "list_events",
    description: "Lists the events of a day.",
    inputSchema: { type: "object", properties: { day: { type: "string" } } },
    hints: { readOnly: true },
    ...parts,
  };
}

export function anExtension(parts: Partial<ExtensionView> = {}): ExtensionView {
  return {
    name: "cal",
    transport: "/usr/bin/cal-server --stdio",
    isEnabled: true,
    state: "ready",
    label: "ready",
    reason: null,
    isCodingAgent: false,
    accepted: 0,
    held: 0,
    off: 0,
    reportedVersion: "Calendar 1.2.0",
    ...parts,
  };
}

type ExtensionParts = Partial<Omit<ExtensionDetail, "extension">> & {
  extension?: Partial<ExtensionDetail["extension"]>;
};

export function anExtensionDetail({ extension, ...parts }: ExtensionParts = {}): ExtensionDetail {
  return {
    name: "cal",
    status: { state: "ready" },
    tools: [],
    ...parts,
    extension: {
      server: aDefinition(),
      isEnabled: true,
      acceptedAtMs: noon,
      tools: [],
      held: [],
      gone: [],
      ...extension,
    },
  };
}

type ToolsPageParts = Partial<Omit<ServerToolsPage, "page">> & { page?: Partial<ServerToolsPage["page"]> };

export function aToolsPage({ page, ...parts }: ToolsPageParts = {}): ServerToolsPage {
  return {
    proposals: {},
    refused: [],
    instructions: null,
    error: null,
    ...parts,
    page: { extension: "cal", server: aDefinition(), tools: [], hash: "cd".repeat(32), ...page },
  };
}
