/* Source of a server: one text whose kind is detected, and the offer to install a package instead of loading it at each
   start. A pasted document fills in the whole form. */

import { Button } from "@/components/Button";
import { Select, TextArea } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { Notice } from "@/components/Notice";
import { useStatus } from "@/data/queries";
import { showInvisible } from "@/format/visible";

import type { EntryServer } from "./registryEntry";
import { isDocument, readServerDocument } from "./serverDocument";
import { type FormProblems, kindOf, pairLines, proposedName, type ServerForm } from "./serverForm";
import styles from "./Servers.module.css";
import { type PackageOffer, packageOffer, type SourceKind } from "./serverSource";

interface Props {
  form: ServerForm;
  problems: FormProblems;
  /** The person chose the name. */
  isNamed: boolean;
  onChange: (form: ServerForm) => void;
  /** Document or registry entry that gave the form. */
  filledIn: FilledIn | undefined;
  /** Undefined once the source is from no document. */
  onFill: (next: FilledIn | undefined) => void;
}

/** Servers that can fill in the form, and the chosen server. */
export interface FilledIn {
  servers: readonly EntryServer[];
  chosen: number;
  origin: "document" | "registry";
}

export const sourceKinds: readonly { id: SourceKind; label: string; help: string }[] = [
  { id: "npm", label: "npm", help: "A package with an exact version, such as name@1.2.3." },
  { id: "pypi", label: "PyPI", help: "A package with an exact version, such as name==1.2.3." },
  { id: "command", label: "Command", help: "A command line. You see the whole command before the start." },
  { id: "url", label: "URL", help: "The address of a server that runs elsewhere." },
  { id: "mcpb", label: "Bundle", help: "The absolute path of an .mcpb file." },
  { id: "folder", label: "Folder", help: "The absolute path of a folder, used in place and read-only." },
];

/** A coding agent is a program on this computer. */
const agentKinds: readonly SourceKind[] = ["npm", "pypi", "command", "folder"];

export function sourceKindsOf(isAgent: boolean) {
  return isAgent ? sourceKinds.filter(({ id }) => agentKinds.includes(id)) : sourceKinds;
}

export function SourceFields({ form, problems, isNamed, onChange, filledIn, onFill }: Props) {
  const { data: status } = useStatus();
  const kind = kindOf(form);
  const offer = kind === "command" ? packageOffer(form.source, status?.home) : undefined;
  const change = (source: string) => {
    const read = isDocument(source) ? readServerDocument(source) : undefined;
    if (read && "servers" in read) {
      onFill({ servers: read.servers, chosen: 0, origin: "document" });
      return;
    }
    onFill(undefined);
    const name = read ? "" : proposedName(source, status?.home);
    onChange({
      ...form,
      source,
      // An empty source can become any kind.
      kind: source.trim() === "" ? null : form.kind,
      ...(!isNamed && { name }),
    });
  };
  return (
    <>
      <TextArea
        mono
        rows={2}
        label={form.isAgent ? "Agent source" : "Server source"}
        value={form.source}
        onChange={change}
        error={problems.source ?? documentProblem(form.source)}
        autoFocus
        help={form.source === "" ? emptyHelp : sourceKinds.find(({ id }) => id === kind)?.help}
        placeholder="npm:@modelcontextprotocol/server-memory@2025.9.25"
        spellCheck="false"
      />
      {filledIn && <FilledInNote filledIn={filledIn} onFill={onFill} />}
      {offer && <Offer offer={offer} onAccept={() => onChange(offeredForm(form, offer))} />}
    </>
  );
}

const emptyHelp =
  "A package with a version, a command, a URL, or the path of a bundle or folder. Or paste an mcpServers or server.json document.";

/** Why a pasted document fills in nothing. */
export function documentProblem(source: string): string | undefined {
  const read = isDocument(source) ? readServerDocument(source) : undefined;
  return read && "problem" in read ? read.problem : undefined;
}

function offeredForm(form: ServerForm, { source, words, program, variables }: PackageOffer): ServerForm {
  const pairs = [pairLines(variables, "="), form.pairs].filter((lines) => lines.trim() !== "").join("\n");
  return { ...form, kind: null, source, words, program, pairs };
}

function Offer({ offer: { runner, kind, spec }, onAccept }: { offer: PackageOffer; onAccept: () => void }) {
  const registry = kind === "npm" ? "npm" : "PyPI";
  const remedy =
    spec.version === ""
      ? `Install a fixed version instead. ${versionHint(kind, spec.name)}`
      : `Install ${spec.name} ${spec.version} once instead, and Rouse checks its files before each start.`;
  return (
    <Notice
      tone="accent"
      action={
        <Button small onPress={onAccept}>
          Install from {registry}
        </Button>
      }
    >
      <InlineCode text={showInvisible(`\`${runner}\` loads the package at each start. ${remedy}`)} />
    </Notice>
  );
}

function versionHint(kind: "npm" | "pypi", name: string): string {
  return `\`${kind === "npm" ? `npm view ${name} versions` : `pip index versions ${name}`}\` lists all versions.`;
}

interface FilledInNoteProps {
  filledIn: FilledIn;
  onFill: (next: FilledIn) => void;
}

function FilledInNote({ filledIn, onFill }: FilledInNoteProps) {
  const { servers, chosen, origin } = filledIn;
  const isEntry = origin === "registry";
  const notes = servers[chosen]?.notes ?? [];
  return (
    <>
      {servers.length > 1 && (
        <Select
          label={isEntry ? "Server of the entry" : "Server of the document"}
          choices={servers.map(({ title }, at) => ({ id: String(at), label: showInvisible(title) }))}
          value={String(chosen)}
          onChange={(id) => onFill({ ...filledIn, chosen: Number(id) })}
        />
      )}
      <p role="status" className={styles.note}>
        {showInvisible([`Filled in from the ${isEntry ? "registry" : "pasted document"}.`, ...notes].join(" "))}
      </p>
    </>
  );
}
