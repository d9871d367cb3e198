/* Misfire policy, overlap, time limit, retries and limits. Every field has a default. */

import { memo } from "react";
import { useWatch } from "react-hook-form";

import { Collapsible } from "@/components/Collapsible";
import { Section } from "@/components/Page";
import { durationWords } from "@/format/amount";
import type { MisfireMode, Overlap } from "@/platform";

import { JobSelect, JobDurationField, JobNumberField, useJobForm } from "./jobFields";
import styles from "./JobEditor.module.css";
import { durationSeconds } from "@/features/jobs/form/fieldCodecs";
import { hasSlots, type JobForm } from "@/features/jobs/form/jobForm";

const misfireChoices: readonly { id: MisfireMode; label: string }[] = [
  { id: "runOnce", label: "Run once when possible" },
  { id: "skip", label: "Skip" },
  { id: "runAll", label: "Run every missed slot" },
];

const overlapChoices: readonly { id: Overlap; label: string }[] = [
  { id: "skip", label: "Skip the new run" },
  { id: "queue", label: "Queue the new run" },
  { id: "parallel", label: "Run in parallel" },
  { id: "cancelOther", label: "Cancel the previous run" },
];

const failureFields = [
  "payloadTimeoutSeconds",
  "misfire",
  "overlap",
  "what",
  "when",
  "backoffSeconds",
  "cooldown",
  "maxConcurrent",
  "misfireLimit",
  "jitterSeconds",
] as const;

/** Collapsed fields. */
export const advancedFields: readonly (keyof JobForm)[] = [
  "misfireLimit",
  "maxConcurrent",
  "cooldown",
  "backoffSeconds",
  "jitterSeconds",
];

type FailureValues = Pick<JobForm, (typeof failureFields)[number]>;

/** Watches only these fields, to avoid re-rendering. */
function useFailureValues(): FailureValues {
  const list = useWatch({ control: useJobForm().control, name: failureFields });
  return Object.fromEntries(failureFields.map((name, i) => [name, list[i]])) as FailureValues;
}

export const FailureSection = memo(function FailureSection({ open }: { open: boolean }) {
  const values = useFailureValues();
  return (
    <Section title="If something goes wrong" className={styles.section}>
      <div className={styles.fields}>
        <div className={styles.pair}>
          <JobSelect
            name="misfire"
            label="Misfire policy"
            choices={misfireChoices}
            help="Applies when the computer was asleep or Rouse was not running."
          />
          <JobDurationField
            name="latest"
            label="Max lateness"
            defaultSeconds={values.misfire === "skip" ? 60 : undefined}
            placeholder="Any"
            help={
              values.misfire === "runOnce"
                ? "If the newest missed slot is older, nothing is caught up. [default: any]"
                : `A later run counts as missed. [default: ${values.misfire === "skip" ? "1 minute" : "any"}]`
            }
          />
        </div>
        <div className={styles.pair}>
          <JobSelect
            name="overlap"
            label="Overlap"
            choices={overlapChoices}
            help="Applies when the previous run is still running."
          />
          <JobDurationField
            name="timeout"
            label="Time limit"
            defaultSeconds={defaultTimeLimit(values)}
            help={`Per attempt, without waiting for retries and approvals. [default: ${durationWords(defaultTimeLimit(values) * 1_000)}]`}
          />
        </div>
        <div className={styles.pair}>
          <JobNumberField
            name="attempts"
            label="Max attempts"
            least={1}
            most={20}
            placeholder="1"
            help="Retries temporary failures, never a call that may have taken effect. [default: 1]"
          />
          <JobNumberField
            name="pauseAfterFailures"
            label="Pause after failures"
            unit="in a row"
            least={1}
            placeholder="Never"
            help="Pauses the job. [default: never]"
          />
        </div>
        <Collapsible key={String(open)} title="Advanced" summary={advancedSummary(values)} defaultExpanded={open}>
          <AdvancedFields values={values} />
        </Collapsible>
      </div>
    </Section>
  );
});

function AdvancedFields({ values }: { values: FailureValues }) {
  return (
    <div className={styles.fields}>
      <div className={styles.pair}>
        <JobNumberField
          name="backoffSeconds"
          label="Retry backoff"
          unit="seconds"
          placeholder="1"
          help="Wait before the first retry, doubled for each further retry. [default: 1 second]"
        />
        <JobDurationField
          name="cooldown"
          label="Cooldown"
          defaultSeconds={0}
          help="Minimum time between runs. [default: none]"
        />
      </div>
      <div className={styles.pair}>
        {(values.overlap === "parallel" || values.maxConcurrent !== null) && (
          <JobNumberField
            name="maxConcurrent"
            label="Concurrent runs"
            least={1}
            most={100}
            placeholder="2"
            help="Maximum parallel runs. [default: 2]"
          />
        )}
        {(values.misfire === "runAll" || values.misfireLimit !== null) && (
          <JobNumberField
            name="misfireLimit"
            label="Catch-up limit"
            least={1}
            most={100}
            placeholder="10"
            help="Maximum catch-up runs. [default: 10]"
          />
        )}
        {hasSlots(values.when) && (
          <JobNumberField
            name="jitterSeconds"
            label="Jitter"
            unit="seconds"
            most={3_600}
            placeholder="0"
            help="Random delay, so that jobs do not start together. [default: 0]"
          />
        )}
      </div>
    </div>
  );
}

/** Default time limit in seconds. */
function defaultTimeLimit({ what, payloadTimeoutSeconds }: FailureValues): number {
  return (what === "agentTurn" ? payloadTimeoutSeconds : null) ?? 600;
}

/** Summary of the advanced fields. */
function advancedSummary(values: FailureValues): string {
  const cooldown = durationSeconds(values.cooldown);
  const parts = [
    values.backoffSeconds !== null && `retry backoff ${durationWords(values.backoffSeconds * 1_000)}`,
    cooldown !== null && `cooldown ${durationWords(cooldown * 1_000)}`,
    values.overlap === "parallel" && values.maxConcurrent !== null && `concurrency ${values.maxConcurrent}`,
    values.misfire === "runAll" && values.misfireLimit !== null && `catch-up limit ${values.misfireLimit}`,
    values.jitterSeconds !== null && `jitter ${durationWords(values.jitterSeconds * 1_000)}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "Retry backoff, cooldown, limits, jitter: all default" : parts.join(" · ");
}
