/* One job in the list: where it stands, when it fires, when next, how it went. */

import { Link } from "@tanstack/react-router";
import { Bot, Copy, Ellipsis, Hand, Pause, Pencil, Play, RotateCw, Trash2 } from "lucide-react";

import { IconButton } from "@/components/Button";
import { cx } from "@/components/cx";
import { MenuButton, type MenuEntries } from "@/components/Menu";
import row from "@/components/Row.module.css";
import { useNow } from "@/components/useNow";
import type { RowPlace } from "@/components/VirtualList";
import { agentBehind, signedWords } from "@/domain/createdBy";
import { incidentWords } from "@/domain/incident";
import { NextTime } from "@/domain/NextTime";
import { scheduleWords } from "@/domain/words";
import type { CronStatus, JobView } from "@/platform";

import styles from "./JobRow.module.css";
import { Sparkline } from "./Sparkline";
import { isOver, leftOutReason, overWord, type Standing, standingOf, standingWords, strandedWords } from "./standing";
import type { JobActions } from "./useJobActions";

/** Where a job stands, as a shape with a name. */
export function StandingDot({ view, standing }: { view: JobView; standing: Standing }) {
  const words = standingWords(standing, view);
  if (standing === "asking") {
    return (
      <span className={styles.hand} title={words}>
        <Hand size={14} aria-hidden />
        <span className="visually-hidden">{words}</span>
      </span>
    );
  }
  return (
    <span className={cx(styles.dot, styles[standing])} title={words}>
      <span className="visually-hidden">{words}</span>
    </span>
  );
}

interface Props {
  view: JobView;
  /** Whether a run of it waits for the person. */
  isAsking: boolean;
  /** Whether anything fires. */
  cron: CronStatus | undefined;
  place: RowPlace;
  actions: JobActions;
}

export function JobRow({ view, isAsking, cron, place, actions }: Props) {
  const { job } = view;
  const standing = standingOf(view, isAsking);
  return (
    <div className={cx(row.row, styles.job, standing === "paused" && styles.off)}>
      <StandingDot view={view} standing={standing} />
      <Link data-row-link to="/jobs/$jobId" params={{ jobId: job.id }} tabIndex={place.tabIndex} className={cx(row.link, styles.name)} preload={false}>
        {job.name}
      </Link>
      <About view={view} standing={standing} />
      <span className={cx(row.small, row.end, styles.next)}>{nextOf(view, standing, cron)}</span>
      <span className={cx(row.above, styles.recent)}>
        <Sparkline states={view.recent} />
      </span>
      <span className={row.above}>
        <MenuButton label={job.name} entries={jobEntries(view, actions)}>
          <IconButton small icon={Ellipsis} label={`More for ${job.name}`} excludeFromTabOrder={place.excludeFromTabOrder} />
        </MenuButton>
      </span>
    </div>
  );
}

/** When it fires, and why it did not the last time; of a job that fails, since when and how often, which is what somebody looks
    for then. */
function About({ view, standing }: { view: JobView; standing: Standing }) {
  const now = useNow(60_000);
  const schedule = scheduleWords(view);
  if (view.predecessorIsGone) return <span className={cx(row.text, styles.schedule)} title={schedule}>{strandedWords}</span>;
  if (view.incident === null) {
    const text = standing === "leftOut" ? `${schedule} · last: ${leftOutReason(view.job.state)}` : schedule;
    return (
      <span className={cx(row.text, styles.schedule)} title={text}>
        <ByAgent job={view.job} />
        {text}
      </span>
    );
  }
  return (
    <span className={cx(row.text, styles.schedule)} title={`${schedule}\n${view.incident.cause}`}>
      {incidentWords(view.incident, now)}
    </span>
  );
}

/** Of a job that an agent has made, or whose task it wrote last: that it is not the person's own. It stands before when the
    job fires, so that one sees at a glance which those are. */
function ByAgent({ job }: { job: JobView["job"] }) {
  const said = agentBehind(job) ? "Made by an agent" : signedWords(job) && "An agent wrote its task";
  if (said === undefined) return null;
  return (
    <span className={styles.agent} title={said}>
      <Bot size={14} aria-hidden />
      <span className="visually-hidden">{said}: </span>
    </span>
  );
}

function nextOf(view: JobView, standing: Standing, cron: CronStatus | undefined) {
  const { job } = view;
  if (standing === "asking") return <span className={styles.now}>Needs you</span>;
  if (standing === "running") return <span className={styles.now}>Running</span>;
  if (!job.enabled) return "Paused";
  if (standing === "stranded") return "Never";
  if (job.state.nextRunAtMs !== undefined) return <NextTime at={job.state.nextRunAtMs} as="log" cron={cron} />;
  if (isOver(view)) return overWord(job.state.lastState);
  return { at: "", manual: "By hand", event: "On an event", webhook: "By webhook" }[job.schedule.kind as string] ?? "Done";
}

export function jobEntries({ job }: JobView, actions: JobActions): MenuEntries {
  return [
    { id: "run", label: "Run now", icon: Play, shortcut: "R", onAction: () => actions.run(job) },
    job.enabled
      ? { id: "pause", label: "Pause", icon: Pause, shortcut: "P", onAction: () => void actions.setEnabled(job, false) }
      : { id: "resume", label: "Resume", icon: RotateCw, shortcut: "P", onAction: () => void actions.setEnabled(job, true) },
    { id: "edit", label: "Edit", icon: Pencil, shortcut: "E", onAction: () => actions.open(job.id) },
    { id: "duplicate", label: "Duplicate", icon: Copy, onAction: () => actions.duplicate(job.id) },
    null,
    { id: "delete", label: "Delete", icon: Trash2, danger: true, onAction: () => void actions.remove(job) },
  ];
}
