/* Facts of a package: what an installation does, and what is installed. Shortens nothing and shows invisible
   characters, because names, claims and commands are untrusted text. */

import type { ReactNode } from "react";

import { Collapsible } from "@/components/Collapsible";
import { VisibleText } from "@/components/VisibleText";
import { bytes, plural } from "@/format/amount";
import { showOneLine } from "@/format/visible";
import type {
  ExtensionSource,
  FileChangeKind,
  InstalledPackage,
  InstallStep,
  PackageChanges,
  PackagePlan,
  PackageSize,
  ServerDefinition,
} from "@/platform";

import { commandLine } from "./commandLine";
import { settingLines } from "./serverForm";
import styles from "./Servers.module.css";

/** First argument of a package whose program is not installed yet. */
const programOfPackage = "{{program of the package}}";

/** Stands for that program in a shown command. */
export const programWord = "PROGRAM";

/** Definition for a page, with the word for a program that is not installed yet. */
export function withProgramWord(server: ServerDefinition): ServerDefinition {
  const { transport } = server;
  if (transport.kind !== "stdio" || transport.arguments[0] !== programOfPackage) return server;
  return { ...server, transport: { ...transport, arguments: [programWord, ...transport.arguments.slice(1)] } };
}

interface PackageFact {
  name: string;
  lines: readonly string[];
  /** Sentences instead of verbatim lines. */
  isProse?: boolean;
}

export function PlanFacts({ plan }: { plan: PackagePlan }) {
  const { source, replaces, changes, registry, claims, steps, folder, size, notes } = plan;
  return (
    <FactList
      facts={[
        ...sourceFacts(source),
        { name: "Replaces", lines: replaces ? [sourceLine(replaces), ...hashLines(replaces)] : [] },
        { name: "File changes", lines: replaces && size ? changeLines(changes) : [] },
        { name: "Claims to be", lines: claims === undefined ? [] : [claims] },
        { name: "Registry", lines: listOf(registry) },
        { name: "Installs to", lines: [folder] },
        { name: "Files", lines: [size ? sizeText(size) : "Known after the download"], isProse: true },
        { name: "Installation", lines: notes, isProse: true },
        { name: "Installs with", lines: steps.map(stepLine) },
      ]}
    />
  );
}

const inPlace = "Used in place. If a file changes, the server does not start until you update it.";

export function InstalledPackageFacts({ installed: { source, files, components } }: { installed: InstalledPackage }) {
  return (
    <FactList
      facts={[
        ...sourceFacts(source),
        { name: "Files", lines: [sizeText(files), ...(source.kind === "folder" ? [inPlace] : [])], isProse: true },
        { name: "Contains", lines: components },
      ]}
    />
  );
}

/** The packages inside that an update added or removed. */
export function ComponentChanges({ changes }: { changes: readonly string[] }) {
  if (changes.length === 0) return <p className={styles.note}>The packages inside are the same as before.</p>;
  return (
    <Collapsible title="Packages inside" summary={`${plural(changes.length, "change")} by the update`}>
      <ul aria-label="Changed packages inside" tabIndex={0} className={styles.changes}>
        {changes.map((change, i) => (
          <li key={i}>
            <code>
              <VisibleText text={showOneLine(change)} />
            </code>
          </li>
        ))}
      </ul>
    </Collapsible>
  );
}

/** Facts without lines are left out. */
function FactList({ facts }: { facts: readonly PackageFact[] }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter(({ lines }) => lines.length > 0)
        .map((fact) => (
          <div key={fact.name} className={styles.fact}>
            <dt>{fact.name}</dt>
            <dd>{factValue(fact)}</dd>
          </div>
        ))}
    </dl>
  );
}

function factValue({ name, lines, isProse }: PackageFact): ReactNode {
  if (name === "Installs with")
    return (
      <pre className={styles.command} tabIndex={0} role="region" aria-label={name}>
        <VisibleText text={lines.map(showOneLine).join("\n")} />
      </pre>
    );
  return lines.map((line, i) => (
    <div key={i}>
      {isProse ? (
        <VisibleText text={showOneLine(line)} />
      ) : (
        <code>
          <VisibleText text={showOneLine(line)} />
        </code>
      )}
    </div>
  ));
}

function sourceFacts(source: ExtensionSource): PackageFact[] {
  const facts: PackageFact[] = [{ name: sourceLabels[source.kind], lines: [sourceName(source)] }];
  if (source.kind === "npm" || source.kind === "pypi") {
    facts.push({ name: "Version", lines: [source.version] });
    facts.push({ name: "Program", lines: source.program === undefined ? [] : [source.program] });
  }
  if (source.kind === "npm") facts.push({ name: "Integrity", lines: listOf(source.integrity) });
  if (source.kind === "pypi") facts.push({ name: "Requirements", lines: requirementLines(source.requirements) });
  if (source.kind === "mcpb") facts.push({ name: "Settings", lines: settingLines(source) });
  if (source.kind === "mcpb" || source.kind === "folder" || source.kind === "tool")
    facts.push({ name: "SHA-256", lines: listOf(source.sha256) });
  return facts;
}

function listOf(text: string | undefined): string[] {
  return text === undefined ? [] : [text];
}

/** Hash of the file with the versions and hashes of all packages inside. */
function requirementLines(sha256: string | undefined): string[] {
  return sha256 === undefined ? [] : [`SHA-256 ${sha256}`];
}

export const sourceLabels: Record<ExtensionSource["kind"], string> = {
  npm: "npm package",
  pypi: "PyPI package",
  mcpb: "Bundle",
  folder: "Folder",
  tool: "Tool folder",
};

function sourceName(source: ExtensionSource): string {
  if (source.kind === "mcpb") return source.file;
  return source.kind === "folder" || source.kind === "tool" ? source.path : source.package;
}

/** The source in one line: kind, name and version. */
export function sourceLine(source: ExtensionSource): string {
  const version = source.kind === "npm" || source.kind === "pypi" ? ` ${source.version}` : "";
  return `${sourceLabels[source.kind]} ${sourceName(source)}${version}`;
}

/** Hash of a replaced bundle or folder. */
function hashLines(source: ExtensionSource): string[] {
  const isLocal = source.kind === "mcpb" || source.kind === "folder" || source.kind === "tool";
  return isLocal && source.sha256 !== undefined ? [`SHA-256 ${source.sha256}`] : [];
}

const updateLabels: Record<FileChangeKind, string> = { changed: "changed", missing: "removed", extra: "added" };

function changeLines(changes: PackageChanges | undefined): string[] {
  if (!changes) return ["not known"];
  const { files, others } = changes;
  if (files.length === 0) return ["none"];
  const lines = files.map(({ path, change }) => `${updateLabels[change]} ${path}`);
  return others > 0 ? [...lines, `and ${others} more`] : lines;
}

/** Command line of a step with its variables. */
function stepLine({ program, arguments: words, environment }: InstallStep): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${commandLine([value])}`);
  return [...variables, commandLine([program, ...words])].join(" ");
}

function sizeText({ files, bytes: size }: PackageSize): string {
  return `${plural(files, "file")}, ${bytes(size)}`;
}
