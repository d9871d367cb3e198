/* Fields of a new coding agent: how it starts, what it may use, and its name. */

import { Checkbox, Segmented } from "@/components/Choice";
import { Collapsible } from "@/components/Collapsible";
import { GroupFoot, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import type { AgentPresetView } from "@/platform";

import { sourceLabels, sourceLine } from "@/features/tools/servers/PackageFacts";
import { Advanced, PairsField, PermissionFields } from "@/features/tools/servers/ServerFields";
import { type FormProblems, kindOf, type ServerForm } from "@/features/tools/servers/serverForm";
import type { AgentForm, AgentStart } from "./agentForm";
import { presetHosts, requestedForm, signInFolders, startOf } from "./agentForm";
import styles from "./Agents.module.css";

interface Props {
  form: AgentForm;
  onChange: (form: AgentForm) => void;
  problems: FormProblems;
}

export function AgentFields({ form, onChange, problems }: Props) {
  const { preset, server } = form;
  const set = (parts: Partial<ServerForm>) => onChange({ ...form, server: { ...server, ...parts } });
  const fields = { kind: kindOf(requestedForm(form)), form: server, set, problems };
  const hasHosts = preset !== null && presetHosts(preset).length > 0;
  const isWrong = [problems.pairs, problems.folders, problems.hosts].some((problem) => problem !== undefined);
  return (
    <>
      {preset === null ? (
        <TextField
          mono
          autoFocus
          label="Command"
          value={server.source}
          onChange={(source) => set({ source })}
          error={problems.source}
          help="The program with the arguments after which it speaks the Agent Client Protocol."
          placeholder="my-agent --acp"
          spellCheck="false"
          autoComplete="off"
        />
      ) : (
        <PresetFields preset={preset} form={form} onChange={onChange} problems={problems} />
      )}
      <TextField
        mono
        label="Name"
        value={server.name}
        onChange={(name) => set({ name })}
        error={problems.name}
        help="The name in jobs and approvals."
        placeholder="my-agent"
        spellCheck="false"
        autoComplete="off"
      />
      <Collapsible
        key={String(isWrong)}
        title={preset === null ? "Permissions" : "More permissions"}
        summary="variables, folders, hosts"
        defaultExpanded={isWrong || !hasHosts}
      >
        <div className={styles.form}>
          <PairsField {...fields} />
          <PermissionFields {...fields} />
        </div>
      </Collapsible>
      <Advanced {...fields} />
    </>
  );
}

function PresetFields({ preset, form, onChange, problems }: Props & { preset: AgentPresetView }) {
  const folders = signInFolders(preset);
  const hosts = presetHosts(preset);
  return (
    <>
      <p>
        <InlineCode text={preset.unasked} />
      </p>
      <StartField preset={preset} form={form} onChange={onChange} problems={problems} />
      {folders.length > 0 && (
        <div>
          <Checkbox
            isSelected={form.usesSignIn}
            onChange={(usesSignIn) => onChange({ ...form, usesSignIn })}
            help={<InlineCode text={preset.signIn} />}
          >
            Use my sign-in ({folders.join(", ")})
          </Checkbox>
          {form.usesSignIn && <GroupFoot error={problems.folders} />}
        </div>
      )}
      {hosts.length > 0 && (
        <Checkbox
          isSelected={form.usesHosts}
          onChange={(usesHosts) => onChange({ ...form, usesHosts })}
          help="The hosts of its model and its sign-in."
        >
          Reach {hosts.join(", ")}
        </Checkbox>
      )}
    </>
  );
}

/** Program or package, for an agent with both. */
function StartField({ preset, form, onChange, problems }: Props & { preset: AgentPresetView }) {
  const { transport } = preset.server;
  const program = transport.kind === "stdio" ? transport.command : "";
  const start = startOf(form);
  const name = preset.source ? sourceLine(preset.source) : "";
  const about: Record<AgentStart, string> = {
    program: `Starts \`${program}\`, which you have installed.`,
    package: form.isProgramMissing
      ? `\`${program}\` is not on this computer, so Rouse installs ${name}.`
      : `Rouse installs ${name}, and checks its files before each start.`,
  };
  return (
    <div className={styles.start}>
      {preset.source && (
        <Segmented<AgentStart>
          label="Start from"
          options={[
            { id: "program", label: "Program on this computer" },
            { id: "package", label: sourceLabels[preset.source.kind] },
          ]}
          value={start}
          onChange={(next) => onChange({ ...form, start: next })}
        />
      )}
      <p className={styles.note} aria-live="polite">
        <InlineCode text={about[start]} />
      </p>
      <GroupFoot error={problems.source ?? problems.words} />
    </div>
  );
}
