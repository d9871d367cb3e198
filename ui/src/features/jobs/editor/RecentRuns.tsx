/* The newest runs of a job. */

import { ButtonLink } from "@/components/Button";
import { Section } from "@/components/Page";
import { sessionOfJob } from "@/data/chat";
import { useRunsOfJob } from "@/data/runs";
import { RunRow } from "@/domain/RunRow";

import styles from "./JobEditor.module.css";

export function RecentRuns({ jobId }: { jobId: string }) {
  const { data } = useRunsOfJob(jobId);
  if (!data || data.runs.length === 0) return null;
  const hasConversation = data.runs.some(({ session }) => session === sessionOfJob(jobId));
  const aside = (
    <>
      {hasConversation && (
        <ButtonLink to="/jobs/$jobId/conversation" params={{ jobId }} look="ghost" small>
          Conversation
        </ButtonLink>
      )}
      <ButtonLink to="/runs" search={{ job: jobId }} look="ghost" small>
        All runs
      </ButtonLink>
    </>
  );
  return (
    <Section title="Recent runs" aside={aside}>
      <ul className={styles.runs} aria-label="Recent runs">
        {data.runs.slice(0, 5).map((run) => (
          <li key={run.id}>
            <RunRow run={run} without="job" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
