/* How a job behaves when things do not go as planned. Every setting has a default that is said, so leaving all of it alone
   is a full answer. */

import { memo } from "react";
import { useWatch } from "react-hook-form";

import { Folded } from "@/components/Folded";
import { Section } from "@/components/Page";
import { durationWords, plural } from "@/format/amount";
import type { MisfireMode, Overlap } from "@/platform";

import { ChoiceOf, LengthOf, NumberOf, useJobForm } from "./bound";
import styles from "./Editor.module.css";
import { type JobForm, secondsOf } from "./form";
import { hasSlots } from "./LivePanel";

const misfires: readonly { id: MisfireMode; label: string }[] = [
  { id: "runOnce", label: "Run once afterwards" },
  { id: "skip", label: "Leave it out" },
  { id: "runAll", label: "Run each one afterwards" },
];

const overlaps: readonly { id: Overlap; label: string }[] = [
  { id: "skip", label: "Leave the new one out" },
  { id: "queue", label: "Wait, then run" },
  { id: "parallel", label: "Run beside it" },
  { id: "cancelOther", label: "End the old one" },
];

const read = [
  "payloadTimeoutSeconds", "misfire", "overlap", "what", "when", "backoffSeconds", "cooldown", "maxConcurrent", "misfireLimit", "jitterSeconds",
] as const;

type Read = Pick<JobForm, (typeof read)[number]>;

/** Only what this section depends on, so that other fields do not draw it again. */
function useRead(): Read {
  const list = useWatch({ control: useJobForm().control, name: read });
  return Object.fromEntries(read.map((name, i) => [name, list[i]])) as Read;
}

export const WrongSection = memo(function WrongSection({ open }: { open: boolean }) {
  const values = useRead();
  return (
    <Section title="If something goes wrong" className={styles.section}>
      <div className={styles.fields}>
        <div className={styles.pair}>
          <ChoiceOf name="misfire" label="If a time was missed" choices={misfires} help="The computer was asleep or off, or Rouse was not running." />
          <LengthOf name="latest" label="At most this late" usual={values.misfire === "skip" ? 60 : undefined} placeholder="Any" help={values.misfire === "runOnce" ? "If even the newest missed time is later, none is made up for." : "A later one counts as missed."} />
        </div>
        <div className={styles.pair}>
          <ChoiceOf name="overlap" label="If the run before still goes" choices={overlaps} />
          <LengthOf name="timeout" label="Stop a run after" usual={usualLimit(values)} help="Each attempt has this long. Waiting for the next one, or for your answer, does not count." />
        </div>
        <div className={styles.pair}>
          <NumberOf name="attempts" label="Attempts in all" least={1} most={20} placeholder="1" help="Only failures that may pass are tried again: a service that is busy or not reached, a command that ended with a failure. Never what may have done its work." />
          <NumberOf name="pauseAfterFailures" label="Pause the job after" unit="failures in a row" least={1} placeholder="Never" />
        </div>
        <Folded key={String(open)} title="Advanced" summary={advancedWords(values)} defaultExpanded={open}>
          <Advanced values={values} />
        </Folded>
      </div>
    </Section>
  );
});

function Advanced({ values }: { values: Read }) {
  return (
    <div className={styles.fields}>
      <div className={styles.pair}>
        <NumberOf name="backoffSeconds" label="Before the second attempt" unit="seconds" placeholder="1" help="Doubles with each further attempt." />
        <LengthOf name="cooldown" label="Least time between runs" usual={0} />
      </div>
      <div className={styles.pair}>
        {(values.overlap === "parallel" || values.maxConcurrent !== null) && <NumberOf name="maxConcurrent" label="Runs at the same time" least={1} most={100} placeholder="2" />}
        {(values.misfire === "runAll" || values.misfireLimit !== null) && <NumberOf name="misfireLimit" label="Most missed times" least={1} most={100} placeholder="10" />}
        {hasSlots(values.when) && <NumberOf name="jitterSeconds" label="Spread over" unit="seconds" most={3_600} placeholder="0" help="So that jobs of one instant do not all begin at once." />}
      </div>
    </div>
  );
}

/** The seconds after which a run is stopped when the job says nothing about it. */
function usualLimit({ what, payloadTimeoutSeconds }: Read): number {
  return (what === "agentTurn" ? payloadTimeoutSeconds : null) ?? 600;
}

/** What is folded away, in a few words. */
function advancedWords(values: Read): string {
  const cooldown = secondsOf(values.cooldown);
  const parts = [
    values.backoffSeconds !== null && `${durationWords(values.backoffSeconds * 1_000)} before the second attempt`,
    cooldown !== null && `at least ${durationWords(cooldown * 1_000)} between runs`,
    values.overlap === "parallel" && values.maxConcurrent !== null && `${plural(values.maxConcurrent, "run")} at the same time`,
    values.misfire === "runAll" && values.misfireLimit !== null && `at most ${plural(values.misfireLimit, "missed time")}`,
    values.jitterSeconds !== null && `spread over ${durationWords(values.jitterSeconds * 1_000)}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "Spacing, limits and spread; nothing set" : parts.join(" · ");
}
