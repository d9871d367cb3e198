/* The event that fired a run, exactly as it came. All of it is text from outside, so it is shown and nothing more. */

import { Link } from "@tanstack/react-router";

import { Code } from "@/components/Code";
import { type Fact, Facts } from "@/components/Facts";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { usePlatform } from "@/data/platform";
import { runStates, stateWord } from "@/domain/runState";
import type { CauseView } from "@/platform";

import styles from "./RunPage.module.css";

const sources: Record<string, string> = {
  job: "The end of another run",
  cron: "A line that a job queued",
  wake: "A wake",
  webhook: "A call of its webhook",
};

/** Of the end of another run: whose it was and how it ended. The link leads to the rest. */
function endOf({ name, state }: CauseView["fields"]): Fact[] {
  const ended = runStates.find((known) => known === state);
  return [...(typeof name === "string" ? [{ name: "Of", value: name }] : []), ...(ended ? [{ name: "It ended", value: stateWord(ended) }] : [])];
}

export function WhyItFired({ cause }: { cause: CauseView }) {
  const { copyText } = usePlatform();
  const { source, fields, text, atMs } = cause;
  const runId = typeof fields.runId === "string" && source === "job" ? fields.runId : undefined;
  const facts: Fact[] = [
    { name: "Event", value: runId === undefined ? (sources[source] ?? source) : <Link to="/runs/$runId" params={{ runId }} className={styles.link}>{sources.job}</Link> },
    { name: "Came", value: <Time at={atMs} as="when" /> },
    ...(source === "job" ? endOf(fields) : Object.entries(fields).map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }))),
  ];
  return (
    <Section title="Why it fired">
      <Facts facts={facts} />
      {text !== "" && (
        <div className={styles.said}>
          <Code label="What was said" text={text} onCopy={copyText} />
        </div>
      )}
    </Section>
  );
}
