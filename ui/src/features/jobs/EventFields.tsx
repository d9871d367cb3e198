/* Which events fire a job: where they come from, what they must say. */

import { ComboBox, TextArea, TextField } from "@/components/Field";
import { Notice } from "@/components/Notice";
import { useJobs } from "@/data/jobs";

import { ChoiceOf, useBound } from "./bound";
import styles from "./Editor.module.css";
import { type End, filtersOf, type Source } from "./events";
import type { Said } from "./WhenSection";

const sources: readonly { id: Source; label: string }[] = [
  { id: "job", label: "Another job ends" },
  { id: "wake", label: "Rouse is woken with a line" },
  { id: "cron", label: "A job queues a line for main" },
  { id: "webhook", label: "A webhook is called" },
];

const outcomes: readonly { id: End; label: string }[] = [
  { id: "ok", label: "It succeeded" },
  { id: "error", label: "It failed" },
  { id: "any", label: "Either way" },
  { id: "skipped", label: "It was skipped" },
  { id: "succeeded", label: "It succeeded with a result" },
  { id: "nothingToReport", label: "It had nothing to report" },
  { id: "failed", label: "It ended in an error" },
  { id: "timedOut", label: "It ran out of time" },
  { id: "interrupted", label: "It was cut off" },
  { id: "cancelled", label: "It was cancelled" },
  { id: "missed", label: "It missed its time" },
];

export function EventFields({ said }: { said: Said }) {
  const source = useBound("source");
  const { value: foreign } = useBound("otherSource");
  const choices = source.value === "other" ? [...sources, { id: "other" as const, label: foreign }] : sources;
  return (
    <>
      <ChoiceOf name="source" label="What happens" choices={choices} />
      {source.value === "other" && <Notice>No event ever comes from “{foreign}” here. The job can be switched on once it waits for something else.</Notice>}
      {source.value === "job" && (
        <div className={styles.pair}>
          <AfterJob said={said} />
          <ChoiceOf name="afterEnd" label="When" choices={outcomes} />
        </div>
      )}
      <Pattern said={said} />
      <Filters said={said} />
    </>
  );
}

const anyJob = { id: "", label: "Any job" };

function AfterJob({ said }: { said: Said }) {
  const { error, ...field } = useBound("afterJob");
  const { data = [], isWhole } = useJobs();
  const jobs = data.map(({ job }) => ({ id: job.id, label: job.name }));
  const isKnown = field.value === "" || jobs.some(({ id }) => id === field.value);
  const choices = [anyJob, ...jobs, ...(isKnown ? [] : [{ id: field.value, label: isWhole ? "A job that is gone" : field.value }])];
  return <ComboBox label="After" choices={choices} {...field} error={error ?? said.get("afterJob")} />;
}

function Pattern({ said }: { said: Said }) {
  const { error, ...field } = useBound("pattern");
  return (
    <TextField
      mono
      label="Its text matches"
      {...field}
      error={error ?? said.get("pattern")}
      help="A regular expression that is found anywhere in it; empty: any text. (?i) in front ignores upper and lower case."
      placeholder="(?i)urgent"
      spellCheck="false"
      autoComplete="off"
    />
  );
}

function Filters({ said }: { said: Said }) {
  const { error, ...field } = useBound("filters");
  const read = filtersOf(field.value);
  const problem = "problem" in read ? read.problem : undefined;
  return (
    <TextArea mono rows={2} label="Its fields are" {...field} error={error ?? problem ?? said.get("filters")} help="Exactly, one a line. Empty: whatever they are." placeholder="type=push" />
  );
}
