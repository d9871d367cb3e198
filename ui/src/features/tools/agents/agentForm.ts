/* Form of a new coding agent: the proposal for a known agent, or a command of the person, with additions. The engine
   checks the values. */

import { type AgentPresetView, fieldErrors, type ServerDefinition } from "@/platform";

import { commandLine } from "@/features/tools/servers/commandLine";
import { emptyServerForm, pairLines, type ServerForm } from "@/features/tools/servers/serverForm";
import { sourceText } from "@/features/tools/servers/serverSource";

export type AgentStart = "program" | "package";

export interface AgentForm {
  /** Known agent; null for a command of the person. */
  preset: AgentPresetView | null;
  /** Chosen by the person; null for the program, or the package without a program. */
  start: AgentStart | null;
  /** The program of the known agent is not on this computer. */
  isProgramMissing: boolean;
  usesSignIn: boolean;
  usesHosts: boolean;
  /** Name, own command, and additions to the proposal. */
  server: ServerForm;
}

type ProgramTransport = Extract<ServerDefinition["transport"], { kind: "stdio" }>;

const noProgram: ProgramTransport = {
  kind: "stdio",
  command: "",
  arguments: [],
  environment: {},
  folders: [],
  hosts: [],
  isUnconfined: false,
};

/** Rouse starts every known agent as a program. */
function programOf({ server: { transport } }: AgentPresetView): ProgramTransport {
  return transport.kind === "stdio" ? transport : noProgram;
}

/** `taken` are the names of the installed extensions. */
export function newAgentForm(preset: AgentPresetView | null, taken: readonly string[]): AgentForm {
  const { mode = "", startTimeoutSeconds = null, callTimeoutSeconds = null } = preset?.server ?? {};
  return {
    preset,
    start: null,
    isProgramMissing: false,
    usesSignIn: true,
    usesHosts: true,
    server: {
      ...emptyServerForm,
      isAgent: true,
      kind: "command",
      name: preset === null ? "" : freeName(preset.name, taken),
      mode,
      startSeconds: startTimeoutSeconds,
      callSeconds: callTimeoutSeconds,
    },
  };
}

/** `claude-code`, or `claude-code-2` if the name is taken. */
function freeName(name: string, taken: readonly string[]): string {
  for (let number = 2, free = name; ; number += 1) {
    if (!taken.includes(free)) return free;
    free = `${name}-${number}`;
  }
}

/** Folders of the sign-in, without their access. */
export function signInFolders(preset: AgentPresetView): string[] {
  return programOf(preset).folders.map((folder) => folder.replace(/:write$/, ""));
}

export function presetHosts(preset: AgentPresetView): readonly string[] {
  return programOf(preset).hosts;
}

export function startOf({ preset, start }: AgentForm): AgentStart {
  return preset?.source ? (start ?? "program") : "program";
}

/** The whole definition as a form. */
export function requestedForm(form: AgentForm): ServerForm {
  const { preset, server } = form;
  if (preset === null) return server;
  const { command, arguments: words, environment, folders, hosts } = programOf(preset);
  const variables = Object.entries(environment).filter(([, value]) => form.usesSignIn || !isInHomeFolder(value));
  const added = {
    ...server,
    pairs: joinLines([pairLines(Object.fromEntries(variables), "="), server.pairs]),
    folders: joinLines([...(form.usesSignIn ? folders : []), server.folders]),
    hosts: joinLines([...(form.usesHosts ? hosts : []), server.hosts]),
  };
  const { source } = preset;
  if (source === undefined || source.kind === "tool" || startOf(form) === "program")
    return { ...added, kind: "command", source: commandLine([command, ...words]) };
  const program = source.kind === "npm" || source.kind === "pypi" ? (source.program ?? "") : "";
  return {
    ...added,
    kind: source.kind,
    source: sourceText(source),
    words: commandLine(words),
    program: server.program.trim() === "" ? program : server.program,
  };
}

/** A variable that leads to the settings of the agent, which hold its sign-in. */
function isInHomeFolder(value: string): boolean {
  return value === "~" || value.startsWith("~/");
}

function joinLines(parts: readonly string[]): string {
  return parts.filter((part) => part.trim() !== "").join("\n");
}

/** The form with the package, if the program is missing and the person has not chosen; undefined otherwise. */
export function withPackageInstead(form: AgentForm, error: Error): AgentForm | undefined {
  const isMissing = fieldErrors(error).some(({ path }) => path === "server.transport.command");
  return form.start === null && form.preset?.source && isMissing
    ? { ...form, start: "package", isProgramMissing: true }
    : undefined;
}
