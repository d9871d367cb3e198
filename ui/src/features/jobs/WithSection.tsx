/* What a run does, in two parts: the words of a reminder, a model's task or a tool's call, which stand under the kind of job,
   and how it goes about it: when it is taken up, with which model and tools. */

import { memo } from "react";
import { useWatch } from "react-hook-form";

import { Checkbox, Segmented } from "@/components/Choice";
import { GroupFoot, Select } from "@/components/Field";
import { Section } from "@/components/Page";
import { Bone, Failure } from "@/components/States";
import { Worded } from "@/components/Worded";
import { useSpending, useStatus, useTools } from "@/data/queries";
import { ArgumentFields } from "@/domain/arguments/ArgumentFields";
import { firstSentence, forPeople } from "@/domain/tools";
import type { ToolView, WakeMode } from "@/platform";

import { LongTextOf, NumberOf, ChoiceOf, TextOf, useBound, useJobForm } from "./bound";
import styles from "./Editor.module.css";
import type { JobForm, ToolChoice } from "./form";
import { MayFields } from "./MayFields";
import { SkillsField } from "./SkillsField";
import { SpendFields } from "./SpendFields";
import { WhoseWords } from "./WhoseWords";

const wakeModes: readonly { id: WakeMode; label: string }[] = [
  { id: "now", label: "At once" },
  { id: "next-heartbeat", label: "With the next heartbeat" },
];

const toolChoices: readonly { id: ToolChoice; label: string }[] = [
  { id: "all", label: "All tools" },
  { id: "some", label: "Only some" },
  { id: "none", label: "None" },
];

const efforts: readonly { id: JobForm["effort"]; label: string }[] = [
  { id: "", label: "The provider’s setting" },
  { id: "low", label: "Low" },
  { id: "medium", label: "Medium" },
  { id: "high", label: "High" },
  { id: "max", label: "Maximum" },
];

export const WithSection = memo(function WithSection({ jobId }: { jobId?: string }) {
  const { value: what } = useBound("what");
  return (
    <Section title="How" className={styles.section}>
      <div className={styles.fields}>
        {what === "systemEvent" && <TakenUp />}
        {what === "agentTurn" && <TaskHow jobId={jobId} />}
        {what === "toolCall" && <CallHow jobId={jobId} />}
      </div>
    </Section>
  );
});

/** What is told, asked or called. */
export function WhatItSays() {
  const { value: what } = useBound("what");
  switch (what) {
    case "systemEvent":
      return (
        <div>
          <LongTextOf key={what} name="text" label="What to say" rows={2} placeholder="Stand up and stretch for a minute." />
          <WhoseWords name="text" />
        </div>
      );
    case "agentTurn":
      return (
        <div>
          <LongTextOf key={what} name="message" label="Task" rows={5} placeholder="What the model should do, and when it should keep quiet." />
          <WhoseWords name="message" />
        </div>
      );
    case "toolCall":
      return <Call />;
  }
}

function TakenUp() {
  const wake = useBound("wakeMode");
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>When it is taken up</span>
      <Segmented label="When it is taken up" options={wakeModes} value={wake.value} onChange={wake.onChange} />
    </div>
  );
}

function TaskHow({ jobId }: { jobId: string | undefined }) {
  const { data: status } = useStatus();
  return (
    <>
      <div className={styles.pair}>
        <TextOf name="model" label="Model" placeholder={status?.model?.split(" · ")[0] ?? "From the settings"} help="Empty: the one in the settings." />
        <TextOf name="fallbacks" label="If that model does not answer" placeholder="No other" help="Models that are asked instead, in this order, with commas. The run says which one answered." />
      </div>
      <div className={styles.pair}>
        <NumberOf name="maxSteps" label="Most steps" least={1} most={50} placeholder="10" help="Turns of the model that may call tools; 1 is no chaining. After them it says what came of it." />
        <AnswerLimit />
        <ChoiceOf name="effort" label="Effort" choices={efforts} help="How much the model reasons." />
      </div>
      <LongTextOf name="contextPaths" label="Files it is given" rows={2} mono placeholder="notes/today.md" help="One a line, in the workspace. Each run has what they say at that time, beside the task." />
      <SkillsField />
      <ToolList />
      <MayFields jobId={jobId} isAgent />
      <SpendFields />
    </>
  );
}

const budgets = ["tokensPerRun", "tokensPerDay", "usdPerRun", "usdPerDay"] as const;

/** The longest answer. Without one it is the provider’s to say, unless a budget counts, be it of this job or of everything: then
    a limit is always sent. */
function AnswerLimit() {
  const own = useWatch({ control: useJobForm().control, name: budgets });
  const { data: all } = useSpending();
  const counts = [...own, all?.tokensPerDay, all?.usdPerDay].some((limit) => typeof limit === "number");
  return (
    <NumberOf
      name="maxTokens"
      label="Most tokens of an answer"
      least={1}
      most={1_000_000}
      placeholder={counts ? "By model and budget" : "The provider’s limit"}
      help={`A longer answer is cut off there.${counts ? " Empty: at the limit of the model, at 8,192 or less where nobody knows that, and in any case at what the budget has left." : ""}`}
    />
  );
}

function ToolList() {
  const choice = useBound("toolChoice");
  const chosen = useBound("tools");
  const { data: tools = [] } = useTools();
  const unknown = chosen.value.filter((name) => !tools.some((tool) => tool.name === name));
  // What belongs to a conversation or to the run itself is of no use here; once chosen, it can be taken off.
  const useful = tools.filter(({ name, canBeTried }) => canBeTried || chosen.value.includes(name));
  const set = (name: string, on: boolean) => chosen.onChange(on ? [...chosen.value, name] : chosen.value.filter((other) => other !== name));
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>Tools it may use</span>
      <Segmented label="Tools it may use" options={toolChoices} value={choice.value} onChange={choice.onChange} />
      {choice.value === "some" && (
        <div className={styles.tools} role="group" aria-label="Tools">
          {[...useful, ...unknown.map((name) => ({ name, description: "Not in the catalogue." }))].map(({ name, description }) => (
            <Checkbox key={name} isSelected={chosen.value.includes(name)} onChange={(on) => set(name, on)} help={<Worded text={firstSentence(description)} />}>
              <code>{name}</code>
            </Checkbox>
          ))}
        </div>
      )}
      <GroupFoot error={chosen.error} warning={chosen.warning} />
    </div>
  );
}

function Call() {
  const { data: tools, error, refetch } = useTools();
  const tool = useBound("tool");
  const values = useBound("arguments");
  if (error && !tools) return <Failure title="The tools could not be read." error={error} onRetry={() => void refetch()} />;
  if (!tools) return <Bone width="60%" height={32} />;
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
        choices={withPresent(tools.filter(({ name, canBeTried }) => canBeTried || name === tool.value), tool.value).map(({ name, description }) => ({ id: name, label: name, about: firstSentence(description) }))}
        value={tool.value === "" ? null : tool.value}
        onChange={choose}
        onBlur={tool.onBlur}
        error={tool.error}
        warning={tool.warning}
        help={shown && <Worded text={forPeople(shown.description)} />}
      />
      {tool.value !== "" && <ArgumentFields key={tool.value} tool={shown} value={values.value} onChange={values.onChange} error={values.error} warning={values.warning} />}
    </>
  );
}

function CallHow({ jobId }: { jobId: string | undefined }) {
  const tool = useBound("tool");
  const { data: tools = [] } = useTools();
  const isCommand = tools.some(({ name, domain }) => name === tool.value && domain === "container");
  return <MayFields jobId={jobId} isAgent={false} isCommand={isCommand} />;
}

function withPresent(tools: readonly ToolView[], present: string): Pick<ToolView, "name" | "description">[] {
  const known = present === "" || tools.some(({ name }) => name === present);
  return known ? [...tools] : [...tools, { name: present, description: "Not in the catalogue." }];
}
