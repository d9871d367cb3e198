/* The newest runs of one job. */

import { useMemo } from "react";

import { ButtonLink } from "@/components/Button";
import { Section } from "@/components/Page";
import { useNewestRuns } from "@/data/runs";
import { RunRow } from "@/domain/RunRow";

import styles from "./Editor.module.css";

export function RecentRuns({ jobId }: { jobId: string }) {
  const { data } = useNewestRuns(useMemo(() => ({ jobId }), [jobId]));
  if (!data || data.runs.length === 0) return null;
  return (
    <Section title="Lately" aside={<ButtonLink to="/runs" search={{ job: jobId }} look="ghost" small>All runs</ButtonLink>}>
      <ul className={styles.runs} aria-label="Newest runs">
        {data.runs.slice(0, 5).map((run) => (
          <li key={run.id}>
            <RunRow run={run} without="job" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
