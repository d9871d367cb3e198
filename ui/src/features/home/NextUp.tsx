/* Upcoming runs. */

import { Link } from "@tanstack/react-router";
import { CirclePlay } from "lucide-react";

import { IconButton } from "@/components/Button";
import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { Allowed } from "@/data/access";
import { useRunNow } from "@/data/actions";
import { useStatus } from "@/data/queries";
import { NextTime } from "@/domain/NextTime";
import { payloadSummaryBesideName } from "@/domain/labels";
import type { JobView } from "@/platform";

import styles from "./HomePage.module.css";

export function NextUp({ jobs }: { jobs: readonly JobView[] }) {
  return (
    <ul className={styles.rows} aria-label="Upcoming runs">
      {jobs.map((view) => (
        <li key={view.job.id}>
          <NextRow view={view} />
        </li>
      ))}
    </ul>
  );
}

function NextRow({ view: { job, zone } }: { view: JobView }) {
  const runNow = useRunNow();
  const cron = useStatus().data?.cron;
  const { nextRunAtMs } = job.state;
  if (nextRunAtMs === undefined) return null;
  const failed = (error: Error) => toast({ title: `Could not start ${job.name}`, about: error.message });
  return (
    <div className={cx(row.row, styles.next)}>
      <Time at={nextRunAtMs} as="when" zone={zone ?? undefined} className={styles.at} />
      <Link data-row-link to="/jobs/$jobId" params={{ jobId: job.id }} className={cx(row.link, styles.name)}>
        {job.name}
      </Link>
      <span className={row.text}>{payloadSummaryBesideName(job)}</span>
      <NextTime at={nextRunAtMs} zone={zone ?? undefined} cron={cron} className={cx(row.small, row.end, styles.soon)} />
      <span className={cx(row.above, styles.act)}>
        <Allowed to="cron.run">
          <IconButton
            small
            icon={CirclePlay}
            label={`Run ${job.name} now`}
            isPending={runNow.isPending}
            onPress={() => runNow.mutate({ id: job.id, mode: "force" }, { onError: failed })}
          />
        </Allowed>
      </span>
    </div>
  );
}
