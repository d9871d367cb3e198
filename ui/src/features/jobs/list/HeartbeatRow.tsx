/* Heartbeat as a row of the job list. */

import { Link } from "@tanstack/react-router";
import { HeartPulse } from "lucide-react";

import row from "@/components/Row.module.css";
import { cx } from "@/components/cx";
import { useStatus } from "@/data/queries";
import { useNewestRuns } from "@/data/runs";
import { NextTime } from "@/domain/NextTime";
import { durationWords } from "@/format/amount";
import type { HeartbeatStatus, RunsListParams } from "@/platform";

import styles from "./JobRow.module.css";
import { Sparkline } from "./Sparkline";

const heartbeatRuns: RunsListParams = { triggers: ["heartbeat"] };
const shown = 14;

export function HeartbeatRow() {
  const { data: status } = useStatus();
  const { data: newest } = useNewestRuns(heartbeatRuns);
  if (!status) return <div className={styles.heartbeat} />;
  const { heartbeat } = status;
  return (
    <div className={cx(row.row, styles.job, styles.heartbeat, !heartbeat.enabled && styles.off)}>
      <HeartPulse size={14} aria-hidden className={styles.pulse} />
      <Link data-row-link to="/settings" hash="heartbeat" className={cx(row.link, styles.name)} preload={false}>
        Heartbeat
      </Link>
      <span className={cx(row.text, styles.schedule)}>{heartbeatLabel(heartbeat)}</span>
      <span className={cx(row.small, row.end, styles.next)}>
        {heartbeat.nextAtMs === null ? "" : <NextTime at={heartbeat.nextAtMs} as="log" cron={status.cron} />}
      </span>
      <span className={styles.recent}>
        <Sparkline
          states={(newest?.runs ?? [])
            .slice(0, shown)
            .map(({ state }) => state)
            .reverse()}
        />
      </span>
      <span className={styles.space} />
    </div>
  );
}

export function heartbeatLabel({
  enabled,
  everyMs,
  activeHours,
  lastSkipReason,
  nextAtMs,
  queuedEvents,
  pending,
  untrustedList,
}: HeartbeatStatus): string {
  if (enabled && untrustedList !== null) return `${untrustedList.changedBy}. Review it.`;
  if (!enabled) return queuedEvents > 0 ? `Off · ${queuedEvents} queued` : "Off";
  const rhythm = `Every ${durationWords(everyMs)}${activeHours === null ? "" : `, ${activeHours}`}`;
  if (pending !== null) return `${rhythm} · ${pending}`;
  if (nextAtMs === null) return lastSkipReason ?? rhythm;
  return lastSkipReason === null ? rhythm : `${rhythm} · last: ${lastSkipReason}`;
}
