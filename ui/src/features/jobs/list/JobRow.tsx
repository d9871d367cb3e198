/* Row of a job: status, schedule, next slot, recent runs. */

import { Link } from "@tanstack/react-router";
import { Bot, Copy, Ellipsis, Hand, Pause, Pencil, Play, RotateCw, Trash2 } from "lucide-react";

import { IconButton } from "@/components/Button";
import { cx } from "@/components/cx";
import { MenuButton, type MenuEntries } from "@/components/Menu";
import row from "@/components/Row.module.css";
import { useNow } from "@/components/useNow";
import type { RowTabProps } from "@/components/VirtualList";
import { Allowed } from "@/data/access";
import { agentMessage, authorText, creatingAgent } from "@/domain/authorship";
import { incidentLabel } from "@/domain/incident";
import { NextTime } from "@/domain/NextTime";
import { scheduleLabel } from "@/domain/labels";
import type { CronStatus, JobView } from "@/platform";

import styles from "./JobRow.module.css";
import { Sparkline } from "./Sparkline";
import {
  isExpired,
  lastFailureReason,
  expiredLabel,
  type JobHealth,
  jobHealthOf,
  healthLabel,
  triggerDeletedLabel,
} from "@/features/jobs/jobStatus";
import type { JobActions } from "@/features/jobs/useJobActions";

/** Job status as an icon with a label. */
export function HealthDot({ view, health }: { view: JobView; health: JobHealth }) {
  const words = healthLabel(health, view);
  if (health === "awaitingApproval") {
    return (
      <span className={styles.hand} title={words}>
        <Hand size={14} aria-hidden />
        <span className="visually-hidden">{words}</span>
      </span>
    );
  }
  return (
    <span className={cx(styles.dot, styles[health])} title={words}>
      <span className="visually-hidden">{words}</span>
    </span>
  );
}

interface Props {
  view: JobView;
  /** A run awaits approval. */
  isAwaitingApproval: boolean;
  /** Scheduler status. */
  cron: CronStatus | undefined;
  place: RowTabProps;
  actions: JobActions;
}

export function JobRow({ view, isAwaitingApproval, cron, place, actions }: Props) {
  const { job } = view;
  const health = jobHealthOf(view, isAwaitingApproval);
  return (
    <div className={cx(row.row, styles.job, health === "paused" && styles.off)}>
      <HealthDot view={view} health={health} />
      <Link
        data-row-link
        to="/jobs/$jobId"
        params={{ jobId: job.id }}
        tabIndex={place.tabIndex}
        className={cx(row.link, styles.name)}
        preload={false}
      >
        {job.name}
      </Link>
      <ScheduleCell view={view} health={health} />
      <span className={cx(row.small, row.end, styles.next)}>{nextCell(view, health, cron)}</span>
      <span className={cx(row.above, styles.recent)}>
        <Sparkline states={view.recent} />
      </span>
      <span className={row.above}>
        <Allowed to="cron.update">
          <MenuButton label={job.name} entries={jobEntries(view, actions)}>
            <IconButton
              small
              icon={Ellipsis}
              label={`More for ${job.name}`}
              excludeFromTabOrder={place.excludeFromTabOrder}
            />
          </MenuButton>
        </Allowed>
      </span>
    </div>
  );
}

/** Schedule with the last skip reason, or the open incident. */
function ScheduleCell({ view, health }: { view: JobView; health: JobHealth }) {
  const now = useNow(60_000);
  const schedule = scheduleLabel(view);
  if (view.isPredecessorMissing)
    return (
      <span className={cx(row.text, styles.schedule)} title={schedule}>
        {triggerDeletedLabel}
      </span>
    );
  if (view.incident === null) {
    const text = health === "incomplete" ? `${schedule} · last: ${lastFailureReason(view.job.state)}` : schedule;
    return (
      <span className={cx(row.text, styles.schedule)} title={text}>
        <AgentIcon job={view.job} />
        {text}
      </span>
    );
  }
  return (
    <span className={cx(row.text, styles.schedule)} title={`${schedule}\n${view.incident.cause}`}>
      {incidentLabel(view.incident, now)}
    </span>
  );
}

/** Marks jobs created by an agent, and jobs with a task written by an agent. */
function AgentIcon({ job }: { job: JobView["job"] }) {
  const maker = creatingAgent(job);
  const author = maker ?? agentMessage(job);
  if (!author) return null;
  const label = `${maker ? "Created" : "Task written"} by ${authorText(author)}`;
  return (
    <span className={styles.agent} title={label}>
      <Bot size={14} aria-hidden />
      <span className="visually-hidden">{label}: </span>
    </span>
  );
}

function nextCell(view: JobView, health: JobHealth, cron: CronStatus | undefined) {
  const { job } = view;
  if (health === "awaitingApproval") return <span className={styles.now}>Needs you</span>;
  if (health === "running") return <span className={styles.now}>Running</span>;
  if (!job.enabled) return "Paused";
  if (health === "triggerDeleted") return "Never";
  if (job.state.nextRunAtMs !== undefined) return <NextTime at={job.state.nextRunAtMs} as="log" cron={cron} />;
  if (isExpired(view)) return expiredLabel(job.state.lastState);
  return { at: "", manual: "Manual", event: "On event", webhook: "On webhook" }[job.schedule.kind as string] ?? "Done";
}

export function jobEntries({ job }: JobView, actions: JobActions): MenuEntries {
  return [
    { id: "run", label: "Run now", icon: Play, shortcut: "R", onAction: () => actions.run(job) },
    job.enabled
      ? { id: "pause", label: "Pause", icon: Pause, shortcut: "P", onAction: () => void actions.setEnabled(job, false) }
      : {
          id: "resume",
          label: "Resume",
          icon: RotateCw,
          shortcut: "P",
          onAction: () => void actions.setEnabled(job, true),
        },
    { id: "edit", label: "Edit", icon: Pencil, shortcut: "E", onAction: () => actions.open(job.id) },
    { id: "duplicate", label: "Duplicate", icon: Copy, onAction: () => actions.duplicate(job.id) },
    null,
    { id: "delete", label: "Delete", icon: Trash2, danger: true, onAction: () => void actions.remove(job) },
  ];
}
