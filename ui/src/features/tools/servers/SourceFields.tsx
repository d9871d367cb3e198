/* Source of a server: one text whose kind is detected, and the offer to install a package instead of loading it at each
   start. A pasted document fills in the whole form. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { Segmented } from "@/components/Choice";
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
  /** `isFilled` if a document gave the whole form. */
  onChange: (form: ServerForm, isFilled?: boolean) => void;
}

const kinds: readonly { id: SourceKind; label: string; help: string }[] = [
  { id: "npm", label: "npm", help: "A package with its exact version, such as name@1.2.3." },
  { id: "pypi", label: "PyPI", help: "A package with its exact version, such as name==1.2.3." },
  { id: "command", label: "Command", help: "A command line. Rouse shows it before it starts anything." },
  { id: "url", label: "URL", help: "The address of a server that runs elsewhere." },
  { id: "mcpb", label: "Bundle", help: "The absolute path of an .mcpb file." },
  { id: "folder", label: "Folder", help: "The absolute path of a folder, used in place and read-only." },
];

export function SourceFields({ form, problems, isNamed, onChange }: Props) {
  const { data: status } = useStatus();
  const [servers, setServers] = useState<EntryServer[]>();
  const [chosen, setChosen] = useState(0);
  const kind = kindOf(form);
  const offer = kind === "command" ? packageOffer(form.source, status?.home) : undefined;
  const fill = (found: EntryServer[], at: number) => {
    const server = found[at];
    if (!server) return;
    setServers(found);
    setChosen(at);
    onChange(server.form, true);
  };
  const change = (source: string) => {
    const read = isDocument(source) ? readServerDocument(source) : undefined;
    if (read && "servers" in read) {
      fill(read.servers, 0);
      return;
    }
    setServers(undefined);
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
        label="Server source"
        value={form.source}
        onChange={change}
        error={problems.source ?? documentProblem(form.source)}
        autoFocus
        help={form.source === "" ? emptyHelp : kinds.find(({ id }) => id === kind)?.help}
        placeholder="npm:@modelcontextprotocol/server-memory@2025.9.25"
        spellCheck="false"
      />
      <Segmented
        label="Kind of source"
        options={kinds}
        value={kind}
        onChange={(next) => onChange({ ...form, kind: next })}
        className={styles.kinds}
      />
      {servers && <DocumentNote servers={servers} chosen={chosen} onChoose={(at) => fill(servers, at)} />}
      {offer && <Offer offer={offer} onAccept={() => onChange(offeredForm(form, offer))} />}
    </>
  );
}

const emptyHelp =
  "A package with its version, a command, a URL, or the path of a bundle or folder. Or paste an mcpServers or server.json document.";

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
      ? `Install one version once instead. ${versionHint(kind, spec.name)}`
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
  return kind === "npm"
    ? `\`npm view ${name} version\` prints the newest.`
    : `https://pypi.org/project/${name}/#history lists all.`;
}

interface DocumentNoteProps {
  servers: readonly EntryServer[];
  chosen: number;
  onChoose: (at: number) => void;
}

function DocumentNote({ servers, chosen, onChoose }: DocumentNoteProps) {
  const notes = servers[chosen]?.notes ?? [];
  return (
    <>
      {servers.length > 1 && (
        <Select
          label="Server of the document"
          choices={servers.map(({ title }, at) => ({ id: String(at), label: title }))}
          value={String(chosen)}
          onChange={(id) => onChoose(Number(id))}
        />
      )}
      <p role="status" className={styles.note}>
        {showInvisible(["Filled in from the pasted document.", ...notes].join(" "))}
      </p>
    </>
  );
}
