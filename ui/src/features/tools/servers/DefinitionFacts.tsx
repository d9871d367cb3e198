/* Fields of a server definition: what a person accepts. Shortens nothing and shows invisible characters. */

import { ShieldAlert } from "lucide-react";
import type { ReactNode } from "react";

import { VisibleText } from "@/components/VisibleText";
import { ownFilesLabels } from "@/domain/toolBuilds";
import { showUnambiguous } from "@/format/visible";
import type { ServerDefinition } from "@/platform";

import { commandLine } from "./commandLine";
import styles from "./Servers.module.css";

interface DefinitionFact {
  name: string;
  /** Verbatim lines. */
  code?: readonly string[];
  /** Text without lines. */
  text?: string;
  /** Remark below the lines. */
  note?: string;
  isAlert?: boolean;
}

interface Props {
  server: ServerDefinition;
  /** The server is a package, whose facts name the origin. */
  isPackage?: boolean;
  /** Leaves out the fields that are the same. */
  than?: ServerDefinition;
  /** Shows only what the server may use, or only its start. */
  part?: "permissions" | "start";
}

/** Fields about what the server may use. They come first. */
const permissions: readonly string[] = ["Rights", "Folders", "Hosts", "Secrets", "Files"];

export function DefinitionFacts({ server, isPackage = false, than, part }: Props) {
  const others = than && definitionFacts(than).map((fact) => JSON.stringify(fact));
  const facts = definitionFacts(server)
    .filter(({ name }) => !isPackage || name !== "From")
    .filter(({ name }) => part === undefined || permissions.includes(name) === (part === "permissions"))
    .filter((fact) => !others?.includes(JSON.stringify(fact)));
  return (
    <dl className={styles.facts}>
      {facts.map((fact) => (
        <div key={fact.name} className={styles.fact}>
          <dt>{fact.name}</dt>
          <dd>{factValue(fact)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** True if two definitions show the same fields. */
export function isSameDefinition(one: ServerDefinition, other: ServerDefinition): boolean {
  return JSON.stringify(definitionFacts(one)) === JSON.stringify(definitionFacts(other));
}

function factValue({ name, code, text, note, isAlert }: DefinitionFact): ReactNode {
  if (isAlert)
    return (
      <span className={styles.alert}>
        <ShieldAlert size={14} aria-hidden /> {text}
      </span>
    );
  if (code === undefined || code.length === 0) return text;
  if (name === "Command" || name === "Address")
    return (
      <pre className={styles.command} tabIndex={0} role="region" aria-label={name}>
        <VisibleText text={verbatimLine(code.join(" "))} />
      </pre>
    );
  return (
    <>
      {code.map((line, i) => (
        <div key={i}>
          <code>
            <VisibleText text={verbatimLine(line)} />
          </code>
        </div>
      ))}
      {note !== undefined && <p className={styles.note}>{note}</p>}
    </>
  );
}

/** A line break would imitate another field. */
function verbatimLine(text: string): string {
  return showUnambiguous(text).replaceAll("\n", "⟨U+000A⟩").replaceAll("\t", "⟨U+0009⟩");
}

/** True for a coding agent, which has no tools. */
export function isCodingAgent({ protocol }: ServerDefinition): boolean {
  return protocol === "acp";
}

/** Facts of the start that only a coding agent has, and its limits. */
function limitFacts(server: ServerDefinition): DefinitionFact[] {
  const { mode, startTimeoutSeconds, callTimeoutSeconds } = server;
  const start = { name: "Start limit", text: `${startTimeoutSeconds ?? 30} s` };
  if (!isCodingAgent(server))
    return [start, { name: "Call limit", text: `${callTimeoutSeconds ?? 60} s without progress` }];
  return [
    { name: "Kind", text: "A coding agent, which works on tasks (Agent Client Protocol)." },
    { name: "Session mode", code: mode === undefined ? [] : [mode], text: "As in the settings of the agent" },
    start,
    { name: "Silence limit", text: `${callTimeoutSeconds ?? 600} s without a report` },
  ];
}

function definitionFacts(server: ServerDefinition): DefinitionFact[] {
  const { transport } = server;
  const limits = limitFacts(server);
  if (transport.kind === "http") {
    const { url, headers } = transport;
    return [
      { name: "Rights", text: "The server gets the arguments of every call, and nothing else of this computer." },
      { name: "Secrets", code: secretLines(headers), text: "None" },
      { name: "From", text: "A server that runs elsewhere." },
      { name: "Address", code: [url] },
      { name: "Headers", code: pairLines(headers, ": "), text: "None" },
      ...limits,
    ];
  }
  if (transport.kind === "wasm") {
    const { hosts, secrets, files } = transport;
    return [
      { name: "Rights", text: "Rouse runs the tool in its own sandbox, with the hosts and files of this page only." },
      { name: "Hosts", code: hosts, text: "None: no network" },
      { name: "Secrets", code: secrets, text: "None" },
      { name: "Files", text: ownFilesLabels[files] },
      ...limits,
    ];
  }
  const { command, environment, folder, folders, hosts, isUnconfined } = transport;
  const isAgent = isCodingAgent(server);
  const own = isAgent ? "Its private folder, and the folder of its task" : "Its private folder only";
  const note = isUnconfined ? "No limit, because of the rights." : undefined;
  return [
    isUnconfined
      ? {
          name: "Rights",
          text: "With your own rights: it can read, change and send everything that you can.",
          isAlert: true,
        }
      : {
          name: "Rights",
          text: `Confined: it reaches its private folder, ${isAgent ? "the folder of its task, " : ""}and the folders and hosts of this page.`,
        },
    { name: "Folders", code: folders.map(folderLine), text: isUnconfined ? "Any" : own, note },
    { name: "Hosts", code: hosts, text: isUnconfined ? "Any" : "None: no network", note },
    { name: "Secrets", code: secretLines(environment), text: "None" },
    { name: "From", text: originText(command, transport.arguments) },
    { name: "Command", code: [commandLine([command, ...transport.arguments])] },
    {
      name: "Starts in",
      code: folder === undefined ? [] : [folder],
      text: isAgent ? "The folder of its task" : "Its private folder",
    },
    { name: "Variables", code: pairLines(environment, "="), text: "None" },
    ...limits,
  ];
}

/** Programs that download what they run, with an exact version as an example. */
const downloaders: Record<string, string> = {
  npx: "name@1.2.3",
  bunx: "name@1.2.3",
  uvx: "name==1.2.3",
  pipx: "name==1.2.3",
};

function originText(command: string, words: readonly string[]): string {
  const program = command.replace(/^.*[\\/]/, "").replace(/\.(exe|cmd)$/i, "");
  if (program === "docker" || program === "podman") return `A container image that ${program} runs.`;
  const example = downloaders[program];
  if (example === undefined) return "A program on this computer.";
  const hasVersion = words.some((word) => /.(@|==)\d/.test(word));
  return `A package that ${program} downloads.${hasVersion ? "" : ` Name an exact version, such as ${example}.`}`;
}

function pairLines(pairs: Record<string, string>, separator: string): string[] {
  return Object.entries(pairs).map(([name, value]) => `${name}${separator}${value}`);
}

function folderLine(folder: string): string {
  return folder.endsWith(":write") ? `${folder.slice(0, -":write".length)} (read and write)` : `${folder} (read)`;
}

function secretLines(pairs: Record<string, string>): string[] {
  return Object.entries(pairs).flatMap(([name, value]) => handlesOf(value).map((secret) => `${secret} in ${name}`));
}

function handlesOf(text: string): string[] {
  return [...text.matchAll(/\{\{secret:([^}]+)\}\}/g)].map((handle) => handle[1] ?? "");
}

/** Names of the secrets that the server gets. */
export function wantedSecrets({ transport }: ServerDefinition): string[] {
  if (transport.kind === "wasm") return transport.secrets;
  const pairs = transport.kind === "http" ? transport.headers : transport.environment;
  return [...new Set(Object.values(pairs).flatMap(handlesOf))];
}
