/* Delivery: result, notify policy, quiet hours and channels. */

import { memo } from "react";

import { Switch } from "@/components/Choice";
import { Section } from "@/components/Page";
import type { Notify } from "@/platform";

import { JobSelect, useJobField } from "./jobFields";
import { ConditionField } from "./ConditionField";
import { DeliverToField } from "./DeliverToField";
import styles from "./JobEditor.module.css";
import type { QuietHoursChoice, NotifyWhenChoice } from "@/features/jobs/form/jobForm";

const notifyWhenChoices: readonly { id: NotifyWhenChoice; label: string }[] = [
  { id: "always", label: "Always" },
  { id: "changed", label: "When the result changes or the run fails" },
  { id: "failure", label: "Only when the run fails" },
  { id: "condition", label: "When a condition is met or the run fails" },
];

const notifyChoices: readonly { id: Notify; label: string }[] = [
  { id: "findings", label: "Results and failures" },
  { id: "always", label: "Every run, even with nothing to report" },
  { id: "failure", label: "Failures only" },
  { id: "never", label: "Nothing" },
];

const quietHours: readonly { id: QuietHoursChoice; label: string }[] = [
  { id: "respect", label: "Respect" },
  { id: "ignore", label: "Ignore" },
];
const customQuietHours = { id: "custom", label: "Custom (imported)" } as const;

export const DeliverySection = memo(function DeliverySection({ jobId }: { jobId?: string }) {
  const { value: what } = useJobField("what");
  const { value: custom } = useJobField("customQuietHours");
  return (
    <Section title="Delivery" className={styles.section}>
      <div className={styles.fields}>
        {what === "agentTurn" && <DeliverSwitch />}
        {what === "toolCall" && <NotifyWhenFields jobId={jobId} />}
        <div className={styles.pair}>
          <JobSelect
            name="notify"
            label="Notify about"
            choices={notifyChoices}
            help="You hear about a failure once, and again when it’s fixed."
          />
          <JobSelect
            name="quietHours"
            label="Quiet hours"
            choices={custom ? [...quietHours, customQuietHours] : quietHours}
            help={
              custom
                ? `Custom: ${custom.from}–${custom.to}${custom.days ? `, ${custom.days.join(", ")}` : ""}${custom.tz ? `, ${custom.tz}` : ""}.`
                : "Respect: notifications are held and delivered together afterwards."
            }
          />
        </div>
        <DeliverToField />
      </div>
    </Section>
  );
});

function DeliverSwitch() {
  const deliver = useJobField("deliver");
  return (
    <Switch
      isSelected={deliver.value}
      onChange={deliver.onChange}
      help="Off: only failures are delivered. The run page always shows the result."
    >
      Deliver the result
    </Switch>
  );
}

function NotifyWhenFields({ jobId }: { jobId: string | undefined }) {
  const notifyWhen = useJobField("notifyWhen");
  return (
    <>
      <JobSelect name="notifyWhen" label="Notify when" choices={notifyWhenChoices} />
      {notifyWhen.value === "condition" && <ConditionField jobId={jobId} />}
    </>
  );
}
