/* Job, run and next slot of an approval. */

import { Link } from "@tanstack/react-router";

import { cx } from "@/components/cx";
import type { Fact } from "@/components/Facts";
import { Time } from "@/components/Time";
import { useApprovalContext } from "@/data/approvals";
import { useStatus } from "@/data/queries";
import { NextTime } from "@/domain/NextTime";
import type { ApprovalView } from "@/platform";

import styles from "./useRequestFacts.module.css";

export function useRequestFacts(approval: ApprovalView | undefined): Fact[] {
  const { detail, job } = useApprovalContext(approval);
  const run = detail?.run;
  const cron = useStatus().data?.cron;
  if (!approval) return [];
  const { jobId, jobName, runId, state } = approval;
  const next = job?.job.state.nextRunAtMs;
  return [
    {
      name: "Job",
      value:
        jobId === null ? (
          jobName
        ) : (
          <Link to="/jobs/$jobId" params={{ jobId }} className={cx(styles.link, styles.name)}>
            {jobName}
          </Link>
        ),
    },
    {
      name: "Run",
      value: (
        <Link to="/runs/$runId" params={{ runId }} className={styles.link}>
          {run?.startedAtMs != null ? (
            <>
              started <Time at={run.startedAtMs} as="within" />
            </>
          ) : (
            "View run"
          )}
        </Link>
      ),
    },
    ...(state === "pending" && next !== undefined
      ? [{ name: "Next run", value: <NextTime at={next} cron={cron} /> }]
      : []),
  ];
}
