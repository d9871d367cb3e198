/* Event that triggered a run. Untrusted text. */

import { Link } from "@tanstack/react-router";

import { Code } from "@/components/Code";
import { type Fact, Facts } from "@/components/Facts";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { usePlatform } from "@/data/platform";
import { runStates, stateLabel } from "@/domain/runState";
import type { CauseView } from "@/platform";

import styles from "./RunPage.module.css";

const sources: Record<string, string> = {
  job: "Run finished",
  cron: "System event from a job",
  wake: "Wake request",
  webhook: "Webhook call",
};

/** Facts of the finished run that triggered this run. */
function finishedRunFacts({ name, state }: CauseView["fields"]): Fact[] {
  const ended = runStates.find((known) => known === state);
  return [
    ...(typeof name === "string" ? [{ name: "Job", value: name }] : []),
    ...(ended ? [{ name: "Outcome", value: stateLabel(ended) }] : []),
  ];
}

export function TriggerEvent({ cause }: { cause: CauseView }) {
  const { copyText } = usePlatform();
  const { source, fields, text, atMs } = cause;
  const runId = typeof fields.runId === "string" && source === "job" ? fields.runId : undefined;
  const facts: Fact[] = [
    {
      name: "Event",
      value:
        runId === undefined ? (
          (sources[source] ?? source)
        ) : (
          <Link to="/runs/$runId" params={{ runId }} className={styles.link}>
            {sources.job}
          </Link>
        ),
    },
    { name: "Received", value: <Time at={atMs} as="when" /> },
    ...(source === "job"
      ? finishedRunFacts(fields)
      : Object.entries(fields).map(([name, value]) => ({
          name,
          value: typeof value === "string" ? value : JSON.stringify(value),
        }))),
  ];
  return (
    <Section title="Trigger event">
      <Facts facts={facts} />
      {text !== "" && (
        <div className={styles.said}>
          <Code label="Event text" text={text} onCopy={copyText} />
        </div>
      )}
    </Section>
  );
}
