/* Fields of a server definition. A pasted document fills them in. */

import { useState } from "react";

import { Switch } from "@/components/Choice";
import { Collapsible } from "@/components/Collapsible";
import { NumberField, Select, TextArea, TextField } from "@/components/Field";
import { useStatus } from "@/data/queries";

import { type DocumentServer, isDocument, readServerDocument } from "./serverDocument";
import { type FormProblems, isUrl, pairsWarning, proposedName, type ServerForm } from "./serverForm";
import styles from "./Servers.module.css";

interface Props {
  form: ServerForm;
  onChange: (form: ServerForm) => void;
  problems: FormProblems;
  /** Changes an installed server, whose name stays. */
  isUpdate: boolean;
}

export function ServerFields({ form, onChange, problems, isUpdate }: Props) {
  const { data: status } = useStatus();
  const [document, setDocument] = useState<DocumentServer[]>();
  const [chosen, setChosen] = useState(0);
  const [isNamed, setNamed] = useState(form.name !== "");
  const isRemote = isUrl(form.source);
  const isAdvanced = form.folder !== "" || form.startSeconds !== null || form.callSeconds !== null;
  const set = (parts: Partial<ServerForm>) => onChange({ ...form, ...parts });
  const fill = (servers: DocumentServer[], at: number) => {
    const server = servers[at];
    if (!server) return;
    setDocument(servers);
    setChosen(at);
    setNamed(true);
    onChange({ ...server.form, ...(isUpdate && { name: form.name }) });
  };
  const changeSource = (source: string) => {
    if (isDocument(source)) {
      const read = readServerDocument(source);
      if ("servers" in read) {
        fill(read.servers, 0);
        return;
      }
    }
    setDocument(undefined);
    set({ source, ...(!isNamed && { name: isDocument(source) ? "" : proposedName(source, status?.home) }) });
  };
  return (
    <div className={styles.form}>
      <TextArea
        mono
        rows={2}
        label="Command or URL"
        value={form.source}
        onChange={changeSource}
        error={problems.source}
        autoFocus
        help="Or paste an mcpServers document. Rouse shows the exact command before it starts anything."
        placeholder="npx -y @modelcontextprotocol/server-memory@2025.9.25"
        spellCheck="false"
      />
      {document && <DocumentNote servers={document} chosen={chosen} onChoose={(at) => fill(document, at)} />}
      <TextField
        mono
        label="Name"
        value={form.name}
        onChange={(name) => {
          setNamed(name !== "");
          set({ name });
        }}
        isDisabled={isUpdate}
        error={problems.name}
        help={`Its tools are called ${form.name === "" ? "name" : form.name}_… in jobs and grants.`}
        placeholder="calendar"
        autoComplete="off"
      />
      <TextArea
        mono
        rows={2}
        label={isRemote ? "Headers" : "Variables"}
        value={form.pairs}
        onChange={(pairs) => set({ pairs })}
        error={problems.pairs}
        warning={pairsWarning(form.pairs)}
        help={`One per line. A value may hold {{secret:NAME}}. [default: ${isRemote ? "none" : "basic variables only"}]`}
        placeholder={isRemote ? "Authorization: Bearer {{secret:docs}}" : "TOKEN={{secret:github}}"}
        spellCheck="false"
      />
      {!isRemote && <PermissionFields form={form} set={set} problems={problems} />}
      <Collapsible
        key={String(problems.folder ?? problems.startSeconds ?? problems.callSeconds)}
        title="Advanced"
        summary={isRemote ? "time limits" : "working directory, time limits"}
        defaultExpanded={
          isAdvanced || [problems.folder, problems.startSeconds, problems.callSeconds].some((one) => one !== undefined)
        }
      >
        <AdvancedFields form={form} set={set} problems={problems} isRemote={isRemote} />
      </Collapsible>
    </div>
  );
}

interface PartProps {
  form: ServerForm;
  set: (parts: Partial<ServerForm>) => void;
  problems: FormProblems;
}

function PermissionFields({ form, set, problems }: PartProps) {
  return (
    <>
      <div className={styles.pair}>
        <TextArea
          mono
          rows={1}
          label="Folders"
          value={form.folders}
          onChange={(folders) => set({ folders })}
          error={problems.folders}
          help="One per line. Add :write to allow changes. [default: its private folder]"
          placeholder="~/Notes"
          spellCheck="false"
        />
        <TextArea
          mono
          rows={1}
          label="Hosts"
          value={form.hosts}
          onChange={(hosts) => set({ hosts })}
          error={problems.hosts}
          help="One per line, port optional. [default: no network]"
          placeholder="api.example.org"
          spellCheck="false"
        />
      </div>
      <Switch
        isSelected={form.isUnconfined}
        onChange={(isUnconfined) => set({ isUnconfined })}
        help={
          <span className={styles.red}>
            Outside the sandbox: it can read, change and send everything that you can. [default: off]
          </span>
        }
      >
        <span className={styles.red}>Run with your own rights</span>
      </Switch>
    </>
  );
}

function AdvancedFields({ form, set, problems, isRemote }: PartProps & { isRemote: boolean }) {
  return (
    <div className={styles.form}>
      {!isRemote && (
        <TextField
          mono
          label="Working directory"
          value={form.folder}
          onChange={(folder) => set({ folder })}
          error={problems.folder}
          help="An absolute path. [default: its private folder]"
          spellCheck="false"
        />
      )}
      <div className={styles.pair}>
        <NumberField
          label="Start limit"
          unit="seconds"
          value={form.startSeconds ?? NaN}
          onChange={(seconds) => set({ startSeconds: Number.isNaN(seconds) ? null : seconds })}
          minValue={1}
          maxValue={300}
          error={problems.startSeconds}
          placeholder="30"
          help="[default: 30]"
        />
        <NumberField
          label="Call limit"
          unit="seconds"
          value={form.callSeconds ?? NaN}
          onChange={(seconds) => set({ callSeconds: Number.isNaN(seconds) ? null : seconds })}
          minValue={1}
          maxValue={3_600}
          error={problems.callSeconds}
          placeholder="60"
          help="Without progress. [default: 60]"
        />
      </div>
    </div>
  );
}

interface DocumentNoteProps {
  servers: readonly DocumentServer[];
  chosen: number;
  onChoose: (at: number) => void;
}

function DocumentNote({ servers, chosen, onChoose }: DocumentNoteProps) {
  const ignored = servers[chosen]?.ignored ?? [];
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
        Filled in from the pasted document.{ignored.length > 0 && ` Without effect: ${ignored.join(", ")}.`}
      </p>
    </>
  );
}
