/* What a job is called, which of the three kinds it is, and what it says, asks or calls. */

import { memo } from "react";

import { Segmented } from "@/components/Choice";
import { GroupFoot } from "@/components/Field";
import { Section } from "@/components/Page";

import { TextOf, useBound } from "./bound";
import styles from "./Editor.module.css";
import type { What } from "./form";
import { WhatItSays } from "./WithSection";

const kinds: readonly { id: What; label: string }[] = [
  { id: "systemEvent", label: "Remind me" },
  { id: "agentTurn", label: "Ask the agent" },
  { id: "toolCall", label: "Call a tool" },
];

const about: Record<What, string> = {
  systemEvent: "Puts a line into the main session. Without a model it comes as a notification.",
  agentTurn: "A model works on a task in a conversation of its own and reports what came of it.",
  toolCall: "Calls one tool with fixed arguments. No model takes part.",
};

export const WhatSection = memo(function WhatSection({ isNew }: { isNew: boolean }) {
  const what = useBound("what");
  return (
    <Section title="What" className={styles.section}>
      <div className={styles.fields}>
        <TextOf name="name" label="Name" placeholder="What people call it" autoFocus={isNew} />
        <div>
          <Segmented label="Kind" options={kinds} value={what.value} onChange={what.onChange} />
          <p className={styles.hint} aria-live="polite">{about[what.value]}</p>
          <GroupFoot error={what.error} warning={what.warning} />
        </div>
        <WhatItSays />
        <TextOf name="description" label="Note" placeholder="What it is for, if the name does not say it" />
      </div>
    </Section>
  );
});
