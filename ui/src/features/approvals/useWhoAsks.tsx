/* Who asks, as facts with links: the job, its run, and when it fires again meanwhile. */

import { Link } from "@tanstack/react-router";

import { cx } from "@/components/cx";
import type { Fact } from "@/components/Facts";
import { Time } from "@/components/Time";
import { useApprovalContext } from "@/data/approvals";
import { useStatus } from "@/data/queries";
import { NextTime } from "@/domain/NextTime";
import type { ApprovalView } from "@/platform";

import styles from "./useWhoAsks.module.css";

export function useWhoAsks(approval: ApprovalView | undefined): Fact[] {
  const { detail, job } = useApprovalContext(approval);
  const run = detail?.run;
  const cron = useStatus().data?.cron;
  if (!approval) return [];
  const { jobId, jobName, runId, state } = approval;
  const next = job?.job.state.nextRunAtMs;
  return [
    { name: "Job", value: jobId === null ? jobName : <Link to="/jobs/$jobId" params={{ jobId }} className={cx(styles.link, styles.name)}>{jobName}</Link> },
    {
      name: "Run",
      value: (
        <Link to="/runs/$runId" params={{ runId }} className={styles.link}>
          {run?.startedAtMs != null ? <>begun <Time at={run.startedAtMs} as="within" /></> : "See it"}
        </Link>
      ),
    },
    ...(state === "pending" && next !== undefined ? [{ name: "Fires again", value: <NextTime at={next} cron={cron} /> }] : []),
  ];
}
