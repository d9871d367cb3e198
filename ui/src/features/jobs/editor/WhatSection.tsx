/* Name, payload kind and payload text. */

import { memo } from "react";

import { Segmented } from "@/components/Choice";
import { GroupFoot } from "@/components/Field";
import { Section } from "@/components/Page";

import { JobTextField, useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";
import type { PayloadKind } from "@/features/jobs/form/jobForm";
import { PayloadFields } from "./HowSection";

const kinds: readonly { id: PayloadKind; label: string }[] = [
  { id: "systemEvent", label: "Reminder" },
  { id: "agentTurn", label: "Agent task" },
  { id: "toolCall", label: "Tool call" },
];

const about: Record<PayloadKind, string> = {
  systemEvent: "Reminds you in Chat, or by notification if no model is set up.",
  agentTurn: "An agent works on a task in its own session and reports the result.",
  toolCall: "Calls one tool with fixed arguments. Uses no model.",
};

export const WhatSection = memo(function WhatSection({ isNew }: { isNew: boolean }) {
  const what = useJobField("what");
  return (
    <Section title="What" className={styles.section}>
      <div className={styles.fields}>
        <JobTextField name="name" label="Name" placeholder="Job name" autoFocus={isNew} />
        <div>
          <Segmented label="Kind" options={kinds} value={what.value} onChange={what.onChange} />
          <p className={styles.hint} aria-live="polite">
            {about[what.value]}
          </p>
          <GroupFoot error={what.error} warning={what.warning} />
        </div>
        <PayloadFields />
        <JobTextField name="description" label="Description (optional)" />
      </div>
    </Section>
  );
});
