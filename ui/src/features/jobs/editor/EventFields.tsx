/* Event trigger: source, job, outcome, pattern and filters. */

import { ComboBox, TextArea, TextField } from "@/components/Field";
import { Notice } from "@/components/Notice";
import { useJobs } from "@/data/jobs";
import { runStateLabels } from "@/platform";

import { JobSelect, useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";
import { type EventOutcome, eventOutcomes, parseFilters, type EventSourceChoice } from "@/features/jobs/form/eventForm";
import type { ScheduleErrors } from "@/features/jobs/form/fieldPaths";

const sources: readonly { id: EventSourceChoice; label: string }[] = [
  { id: "job", label: "Another job finishes" },
  { id: "wake", label: "Wake request" },
  { id: "cron", label: "System event from a job" },
  { id: "webhook", label: "Webhook call" },
];

const outcomeLabels: Record<EventOutcome, string> = {
  ...runStateLabels,
  ok: "Any success",
  error: "Any failure",
  any: "Any outcome",
  succeeded: "Succeeded with a result",
};

const outcomes = eventOutcomes.map((id) => ({ id, label: outcomeLabels[id] }));

export function EventFields({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const source = useJobField("source");
  const { value: foreign } = useJobField("otherSource");
  const choices = source.value === "other" ? [...sources, { id: "other" as const, label: foreign }] : sources;
  return (
    <>
      <JobSelect name="source" label="Event source" choices={choices} />
      {source.value === "other" && (
        <Notice>Rouse receives no events from “{foreign}”. Choose another source to enable this job.</Notice>
      )}
      {source.value === "job" && (
        <div className={styles.pair}>
          <AfterJobField scheduleErrors={scheduleErrors} />
          <JobSelect name="afterEnd" label="Outcome" choices={outcomes} />
        </div>
      )}
      <PatternField scheduleErrors={scheduleErrors} />
      <FiltersField scheduleErrors={scheduleErrors} />
    </>
  );
}

const anyJob = { id: "", label: "Any job" };

function AfterJobField({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { error, ...field } = useJobField("afterJob");
  const { data = [], isWhole } = useJobs();
  const jobs = data.map(({ job }) => ({ id: job.id, label: job.name }));
  const isKnown = field.value === "" || jobs.some(({ id }) => id === field.value);
  const choices = [
    anyJob,
    ...jobs,
    ...(isKnown ? [] : [{ id: field.value, label: isWhole ? "Deleted job" : field.value }]),
  ];
  return <ComboBox label="After job" choices={choices} {...field} error={error ?? scheduleErrors.get("afterJob")} />;
}

function PatternField({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { error, ...field } = useJobField("pattern");
  return (
    <TextField
      mono
      label="Text pattern"
      {...field}
      error={error ?? scheduleErrors.get("pattern")}
      help="Regular expression, found anywhere in the text. Start with (?i) to ignore case. [default: any text]"
      placeholder="(?i)urgent"
      spellCheck="false"
      autoComplete="off"
    />
  );
}

function FiltersField({ scheduleErrors }: { scheduleErrors: ScheduleErrors }) {
  const { error, ...field } = useJobField("filters");
  const read = parseFilters(field.value);
  const problem = "problem" in read ? read.problem : undefined;
  return (
    <TextArea
      mono
      rows={2}
      label="Field filters"
      {...field}
      error={error ?? problem ?? scheduleErrors.get("filters")}
      help="Exact matches, one key=value per line. [default: none]"
      placeholder="type=push"
    />
  );
}
