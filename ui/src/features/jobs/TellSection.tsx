/* When a person hears of a run: what is worth telling, of which of that a notification comes, and what about the quiet hours. All
   of one question stands in one place. */

import { memo } from "react";

import { Switch } from "@/components/Choice";
import { Section } from "@/components/Page";
import type { Notify } from "@/platform";

import { ChoiceOf, useBound } from "./bound";
import { Condition } from "./Condition";
import styles from "./Editor.module.css";
import type { QuietChoice, TellWhen } from "./form";
import { OwnHoursFields } from "./OwnHoursFields";

const tells: readonly { id: TellWhen; label: string }[] = [
  { id: "always", label: "Always" },
  { id: "changed", label: "When the result has changed, or it failed" },
  { id: "failure", label: "Only when it failed" },
  { id: "condition", label: "When a condition holds, or it failed" },
];

const notifies: readonly { id: Notify; label: string }[] = [
  { id: "findings", label: "Results and failures" },
  { id: "always", label: "Every run, also with nothing to report" },
  { id: "failure", label: "Failures only" },
  { id: "never", label: "Nothing" },
];

const quiets: readonly { id: QuietChoice; label: string }[] = [
  { id: "respect", label: "As in the settings" },
  { id: "ignore", label: "Tell me at any time" },
  { id: "own", label: "Hours of its own" },
];

export const TellSection = memo(function TellSection({ jobId }: { jobId?: string }) {
  const { value: what } = useBound("what");
  const { value: quiet } = useBound("quiet");
  return (
    <Section title="When it tells you" className={styles.section}>
      <div className={styles.fields}>
        {what === "agentTurn" && <Outcome />}
        {what === "toolCall" && <Result jobId={jobId} />}
        <div className={styles.pair}>
          <ChoiceOf name="notify" label="Notify me of" choices={notifies} help="The same failure is told once, and again when it is over." />
          <ChoiceOf name="quiet" label="In quiet hours" choices={quiets} help="What is held then comes as one notification afterwards." />
        </div>
        {quiet === "own" && <OwnHoursFields />}
      </div>
    </Section>
  );
});

function Outcome() {
  const deliver = useBound("deliver");
  return (
    <Switch isSelected={deliver.value} onChange={deliver.onChange} help="Off: only failures are told; the outcome is on the run’s page.">
      Tell me the outcome
    </Switch>
  );
}

function Result({ jobId }: { jobId: string | undefined }) {
  const tell = useBound("notifyWhen");
  return (
    <>
      <ChoiceOf name="notifyWhen" label="Tell me when" choices={tells} />
      {tell.value === "condition" && <Condition jobId={jobId} />}
    </>
  );
}
