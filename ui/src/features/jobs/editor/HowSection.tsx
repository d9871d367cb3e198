/* Payload fields, and how the run executes: wake mode, model, tools, permissions. */

import { memo } from "react";
import { useWatch } from "react-hook-form";

import { Checkbox, Segmented } from "@/components/Choice";
import { GroupFoot, Select } from "@/components/Field";
import { Section } from "@/components/Page";
import { SkeletonBar, Failure } from "@/components/Placeholders";
import { InlineCode } from "@/components/InlineCode";
import { useSpending, useStatus, useTools } from "@/data/queries";
import { ArgumentFields } from "@/domain/arguments/ArgumentFields";
import { firstSentence, humanizeSizes, toolsOfServer } from "@/domain/tools";
import { parseJobServer } from "@/features/jobs/form/jobServers";
import type { ToolView, WakeMode } from "@/platform";

import { CodingAgentFields } from "./CodingAgentFields";
import { JobTextArea, JobNumberField, JobSelect, JobTextField, useJobField, useJobForm } from "./jobFields";
import styles from "./JobEditor.module.css";
import type { JobForm, ToolChoice } from "@/features/jobs/form/jobForm";
import { PermissionFields } from "./PermissionFields";
import { ServersField } from "./ServersField";
import { SkillsField } from "./SkillsField";
import { BudgetFields } from "./BudgetFields";
import { AuthorNotice } from "./AuthorNotice";

const wakeModes: readonly { id: WakeMode; label: string }[] = [
  { id: "now", label: "Right away" },
  { id: "next-heartbeat", label: "At the next heartbeat" },
];

const toolChoices: readonly { id: ToolChoice; label: string }[] = [
  { id: "all", label: "All tools" },
  { id: "some", label: "Selected tools" },
  { id: "none", label: "None" },
];

const efforts: readonly { id: JobForm["effort"]; label: string }[] = [
  { id: "", label: "Provider default" },
  { id: "low", label: "Low" },
  { id: "medium", label: "Medium" },
  { id: "high", label: "High" },
  { id: "max", label: "Maximum" },
];

export const HowSection = memo(function HowSection({ jobId }: { jobId?: string }) {
  const { value: what } = useJobField("what");
  return (
    <Section title="How" className={styles.section}>
      <div className={styles.fields}>
        {what === "systemEvent" && <WakeModeField />}
        {what === "agentTurn" && <AgentTurnFields jobId={jobId} />}
        {what === "toolCall" && <ToolCallPermissions jobId={jobId} />}
      </div>
    </Section>
  );
});

/** Text, task or call of the payload. */
export function PayloadFields() {
  const { value: what } = useJobField("what");
  switch (what) {
    case "systemEvent":
      return (
        <div>
          <JobTextArea
            key={what}
            name="text"
            label="Reminder"
            rows={2}
            placeholder="Stand up and stretch for a minute."
          />
          <AuthorNotice name="text" />
        </div>
      );
    case "agentTurn":
      return (
        <div>
          <JobTextArea
            key={what}
            name="message"
            label="Task"
            rows={5}
            placeholder="What the agent should do, and when it should report nothing."
          />
          <AuthorNotice name="message" />
        </div>
      );
    case "toolCall":
      return <ToolCallFields />;
  }
}

function WakeModeField() {
  const wake = useJobField("wakeMode");
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        Wake mode
      </span>
      <Segmented label="Wake mode" options={wakeModes} value={wake.value} onChange={wake.onChange} />
    </div>
  );
}

function AgentTurnFields({ jobId }: { jobId: string | undefined }) {
  const isDelegated = useJobField("agent").value !== "";
  return (
    <>
      <CodingAgentFields />
      {!isDelegated && <ModelFields />}
      <JobTextArea
        name="contextPaths"
        label="Context files"
        rows={2}
        mono
        placeholder="notes/today.md"
        help={
          isDelegated
            ? "Paths in its folder, one per line. The agent is asked to read them first. [default: none]"
            : "Paths in the workspace, one per line. Each run gets their current content. [default: none]"
        }
      />
      {!isDelegated && (
        <>
          <SkillsField />
          <ServersField />
          <ToolsField />
        </>
      )}
      <PermissionFields jobId={jobId} isAgent isDelegated={isDelegated} />
      <BudgetFields />
    </>
  );
}

function ModelFields() {
  const { data: status } = useStatus();
  return (
    <>
      <div className={styles.pair}>
        <JobTextField
          name="model"
          label="Model"
          placeholder={status?.model?.split(" · ")[0] ?? "From the settings"}
          help="[default: the model in Settings]"
        />
        <JobTextField
          name="fallbacks"
          label="Fallback models"
          placeholder="None"
          help="Tried in this order if the model fails, separated by commas. [default: none]"
        />
      </div>
      <div className={styles.pair}>
        <JobNumberField
          name="maxSteps"
          label="Max steps"
          least={1}
          most={50}
          placeholder="10"
          help="After this many tool turns the agent reports its result. [default: 10]"
        />
        <MaxTokensField />
        <JobSelect
          name="effort"
          label="Effort"
          choices={efforts}
          help="How much the model reasons. [default: provider’s setting]"
        />
      </div>
    </>
  );
}

const budgetFields = ["tokensPerRun", "tokensPerDay", "usdPerRun", "usdPerDay"] as const;

/** Answer limit. With any budget, a limit is always sent. */
function MaxTokensField() {
  const own = useWatch({ control: useJobForm().control, name: budgetFields });
  const { data: all } = useSpending();
  const counts = [...own, all?.tokensPerDay, all?.usdPerDay].some((limit) => typeof limit === "number");
  return (
    <JobNumberField
      name="maxTokens"
      label="Max answer tokens"
      least={1}
      most={1_000_000}
      placeholder={counts ? "By model and budget" : "Provider’s limit"}
      help={`Longer answers are cut off. [default: ${counts ? "the model’s limit, or 8,192 if unknown, within the remaining budget" : "the provider’s limit"}]`}
    />
  );
}

function ToolsField() {
  const choice = useJobField("toolChoice");
  const chosen = useJobField("tools");
  const servers = useJobField("servers").value.map((server) => parseJobServer(server).name);
  const { data: tools = [] } = useTools();
  const unknown = chosen.value.filter((name) => !tools.some((tool) => tool.name === name));
  // Tools of conversations are useless here; only selected tools are listed, for removal.
  const useful = tools.filter(({ name, canBeTried }) => canBeTried || chosen.value.includes(name));
  const isOfServer = ({ origin }: ToolView) => origin !== null && servers.includes(origin.extension);
  // A tool of another server is never offered; only selected tools are listed, for removal.
  const others = useful.filter(
    (tool) => !isOfServer(tool) && (tool.origin === null || chosen.value.includes(tool.name)),
  );
  const listed = [...others.map(toolEntry), ...unknown.map(unknownEntry)];
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        Tools
      </span>
      <Segmented label="Tools" options={toolChoices} value={choice.value} onChange={choice.onChange} />
      {choice.value === "some" && (
        <>
          <ToolChoices label="Selected tools" entries={listed} chosen={chosen.value} onChange={chosen.onChange} />
          {servers.map((server) => {
            const entries = toolsOfServer(useful, server).map(toolEntry);
            if (entries.length === 0) return null;
            const isWhole = !entries.some(({ name }) => chosen.value.includes(name));
            return (
              <div key={server} className={styles.ofServer}>
                <span className={styles.note}>
                  <code>{server}</code>: {isWhole ? "all tools, unless you select some" : "selected tools only"}
                </span>
                <ToolChoices
                  label={`Selected tools of ${server}`}
                  entries={entries}
                  chosen={chosen.value}
                  onChange={chosen.onChange}
                />
              </div>
            );
          })}
        </>
      )}
      <GroupFoot error={chosen.error} warning={chosen.warning} />
    </div>
  );
}

interface ToolEntry {
  name: string;
  about: string;
}

function toolEntry({ name, description }: ToolView): ToolEntry {
  return { name, about: firstSentence(description) };
}

function unknownEntry(name: string): ToolEntry {
  return { name, about: "Not in the catalog." };
}

interface ToolChoicesProps {
  label: string;
  entries: readonly ToolEntry[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

function ToolChoices({ label, entries, chosen, onChange }: ToolChoicesProps) {
  return (
    <div className={styles.tools} role="group" aria-label={label}>
      {entries.map(({ name, about }) => (
        <Checkbox
          key={name}
          isSelected={chosen.includes(name)}
          onChange={(on) => onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name))}
          help={<InlineCode text={about} />}
        >
          <code>{name}</code>
        </Checkbox>
      ))}
    </div>
  );
}

function ToolCallFields() {
  const { data: tools, error, refetch } = useTools();
  const tool = useJobField("tool");
  const values = useJobField("arguments");
  if (error && !tools) return <Failure title="Could not load tools." error={error} onRetry={() => void refetch()} />;
  if (!tools) return <SkeletonBar width="60%" height={32} />;
  const shown = tools.find(({ name }) => name === tool.value);
  const choose = (name: string) => {
    tool.onChange(name);
    values.onChange({});
  };
  return (
    <>
      <Select
        label="Tool"
        placeholder="Choose a tool"
        choices={withSelected(
          tools.filter(({ name, canBeTried }) => canBeTried || name === tool.value),
          tool.value,
        ).map(({ name, description }) => ({ id: name, label: name, about: firstSentence(description) }))}
        value={tool.value === "" ? null : tool.value}
        onChange={choose}
        onBlur={tool.onBlur}
        error={tool.error}
        warning={tool.warning}
        help={shown && <InlineCode text={humanizeSizes(shown.description)} />}
      />
      {tool.value !== "" && (
        <ArgumentFields
          key={tool.value}
          tool={shown}
          value={values.value}
          onChange={values.onChange}
          error={values.error}
          warning={values.warning}
        />
      )}
    </>
  );
}

function ToolCallPermissions({ jobId }: { jobId: string | undefined }) {
  const tool = useJobField("tool");
  const { data: tools = [] } = useTools();
  const isCommand = tools.some(({ name, domain }) => name === tool.value && domain === "container");
  return <PermissionFields jobId={jobId} isAgent={false} isCommand={isCommand} />;
}

function withSelected(tools: readonly ToolView[], present: string): Pick<ToolView, "name" | "description">[] {
  const known = present === "" || tools.some(({ name }) => name === present);
  return known ? [...tools] : [...tools, { name: present, description: "Not in the catalog." }];
}
