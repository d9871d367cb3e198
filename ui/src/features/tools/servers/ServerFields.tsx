/* Fields of a definition and its package, of an MCP server or a coding agent. */

import { useState } from "react";

import { Switch } from "@/components/Choice";
import { Collapsible } from "@/components/Collapsible";
import { NumberField, TextArea, TextField } from "@/components/Field";

import { type FormProblems, kindOf, pairsWarning, type ServerForm } from "./serverForm";
import styles from "./Servers.module.css";
import type { SourceKind } from "./serverSource";
import { type FilledIn, SourceFields } from "./SourceFields";

interface Props {
  form: ServerForm;
  onChange: (form: ServerForm) => void;
  problems: FormProblems;
  /** Changes an installed server, whose name stays. */
  isUpdate: boolean;
  filledIn: FilledIn | undefined;
  onFill: (next: FilledIn | undefined) => void;
}

export function ServerFields({ form, onChange, problems, isUpdate, filledIn, onFill }: Props) {
  const [isNamed, setNamed] = useState(form.name !== "");
  const kind = kindOf(form);
  const isRemote = kind === "url";
  const set = (parts: Partial<ServerForm>) => onChange({ ...form, ...parts });
  return (
    <div className={styles.form}>
      <SourceFields
        form={form}
        problems={problems}
        isNamed={isNamed}
        onChange={onChange}
        filledIn={filledIn}
        onFill={(next) => {
          if (next) setNamed(next.servers[next.chosen]?.form.name !== "");
          onFill(next);
        }}
      />
      <PackageFields kind={kind} form={form} set={set} problems={problems} />
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
        help={
          form.isAgent
            ? "The name in jobs and approvals."
            : `Its tools are called ${form.name === "" ? "name" : form.name}_… in jobs and grants.`
        }
        placeholder={form.isAgent ? "claude-code" : "calendar"}
        autoComplete="off"
      />
      <PairsField kind={kind} form={form} set={set} problems={problems} />
      {!isRemote && <PermissionFields form={form} set={set} problems={problems} />}
      <Advanced kind={kind} form={form} set={set} problems={problems} />
    </div>
  );
}

interface PartProps {
  form: ServerForm;
  set: (parts: Partial<ServerForm>) => void;
  problems: FormProblems;
}

type KindProps = PartProps & { kind: SourceKind };

function PackageFields({ kind, form, set, problems }: KindProps) {
  if (kind === "command" || kind === "url") return null;
  return (
    <>
      <TextField
        mono
        label={kind === "folder" ? "Command" : "Arguments"}
        value={form.words}
        onChange={(words) => set({ words })}
        error={problems.words}
        help={
          kind === "folder"
            ? "The program with arguments. A relative path lies in the folder."
            : "Added to the arguments of the package. Write absolute paths. [default: none]"
        }
        placeholder={kind === "folder" ? "node dist/index.js" : "/home/ada/Notes"}
        spellCheck="false"
        autoComplete="off"
      />
      {kind === "mcpb" && (
        <TextArea
          mono
          rows={2}
          label="Settings"
          value={form.config}
          onChange={(config) => set({ config })}
          error={problems.config}
          help="KEY=VALUE, one per line. A secret is {{secret:NAME}}. [default: from the bundle]"
          placeholder="api_key={{secret:notes}}"
          spellCheck="false"
        />
      )}
    </>
  );
}

/** Variables of a program, or headers of an address. */
export function PairsField({ kind, form, set, problems }: KindProps) {
  const isRemote = kind === "url";
  return (
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
  );
}

export function PermissionFields({ form, set, problems }: PartProps) {
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
          help={`One per line. Add :write to allow changes. [default: ${form.isAgent ? "private, and that of the task" : "a private folder"}]`}
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
            Outside the sandbox: {form.isAgent ? "the agent" : "the server"} can read, change and send everything that
            you can. [default: off]
          </span>
        }
      >
        <span className={styles.red}>Run with your own rights</span>
      </Switch>
    </>
  );
}

export function Advanced({ kind, form, set, problems }: KindProps) {
  const hasProgram = kind === "npm" || kind === "pypi";
  // A coding agent works in the folder of its task.
  const hasFolder = kind !== "url" && kind !== "folder" && !form.isAgent;
  const runtime = kind === "npm" ? "Node.js" : "Python";
  const shown = [
    problems.program,
    problems.runtime,
    problems.folder,
    problems.mode,
    problems.startSeconds,
    problems.callSeconds,
  ];
  const isSet = [form.program, form.runtime, form.folder].some((text) => text !== "");
  return (
    <Collapsible
      key={shown.join()}
      title="Advanced"
      summary={[
        hasProgram && "program",
        hasFolder && "working directory",
        form.isAgent && "session mode",
        "time limits",
      ]
        .filter(Boolean)
        .join(", ")}
      defaultExpanded={
        isSet || form.startSeconds !== null || form.callSeconds !== null || shown.some((one) => one !== undefined)
      }
    >
      <div className={styles.form}>
        {hasProgram && (
          <div className={styles.pair}>
            <TextField
              mono
              label="Program"
              value={form.program}
              onChange={(program) => set({ program })}
              error={problems.program}
              help="For a package with several programs. [default: the only program]"
              spellCheck="false"
              autoComplete="off"
            />
            <TextField
              mono
              label={`${runtime} path`}
              value={form.runtime}
              onChange={(path) => set({ runtime: path })}
              error={problems.runtime}
              help={`An absolute path. [default: the ${runtime} in PATH]`}
              spellCheck="false"
              autoComplete="off"
            />
          </div>
        )}
        {hasFolder && (
          <TextField
            mono
            label="Working directory"
            value={form.folder}
            onChange={(folder) => set({ folder })}
            error={problems.folder}
            help="An absolute path. [default: a private folder]"
            spellCheck="false"
          />
        )}
        {form.isAgent && <ModeField form={form} set={set} problems={problems} />}
        <TimeLimits form={form} set={set} problems={problems} />
      </div>
    </Collapsible>
  );
}

function ModeField({ form, set, problems }: PartProps) {
  return (
    <TextField
      mono
      label="Session mode"
      value={form.mode}
      onChange={(mode) => set({ mode })}
      error={problems.mode}
      help="Decides what the agent does without asking. [default: the agent’s own setting]"
      placeholder="default"
      spellCheck="false"
      autoComplete="off"
    />
  );
}

function TimeLimits({ form, set, problems }: PartProps) {
  return (
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
        label={form.isAgent ? "Silence limit" : "Call limit"}
        unit="seconds"
        value={form.callSeconds ?? NaN}
        onChange={(seconds) => set({ callSeconds: Number.isNaN(seconds) ? null : seconds })}
        minValue={1}
        maxValue={3_600}
        error={problems.callSeconds}
        placeholder={form.isAgent ? "600" : "60"}
        help={form.isAgent ? "Without a report. [default: 600]" : "Without progress. [default: 60]"}
      />
    </div>
  );
}
