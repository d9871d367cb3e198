/* Today as a strip: past runs as ticks, future slots hollow. Decorative; the lists below are accessible. */

import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { cx } from "@/components/cx";
import { useEngineNow } from "@/components/engineLost";
import { Section } from "@/components/Page";
import { useFirstJobs } from "@/data/jobs";
import { useStatus, useUpcoming } from "@/data/queries";
import { useRunsSince } from "@/data/runs";
import { skipReason } from "@/domain/skipReason";
import { outcomeSummary } from "@/domain/labels";
import { shownState, stateTone, stateLabel } from "@/domain/runState";
import { plural } from "@/format/amount";
import { clock } from "@/format/time";
import type { RunView } from "@/platform";

import { dayAround, type FutureTick, futureTicks, hoursOf, type PastTick, pastTicks } from "./day";
import styles from "./Today.module.css";

export function Today() {
  const now = useEngineNow();
  const { begin, end } = dayAround(now);
  const day = useMemo(() => ({ begin, end }), [begin, end]);
  const runs = useRunsSince(begin).data?.runs;
  const upcoming = useUpcoming(useFirstJobs().data?.jobs ?? [], end);
  const past = useMemo(() => pastTicks(day, runs ?? []), [day, runs]);
  const cron = useStatus().data?.cron;
  const coming = upcoming.flatMap(({ job, slots }) =>
    slots.filter((at) => at > now && skipReason(cron, at) === undefined).map((at) => ({ at, name: job.job.name })),
  );
  const future = futureTicks(day, coming);
  const summary = todaySummary(runs, coming.length);

  return (
    <Section title="Today" aside={summary}>
      <div className={styles.strip} role="img" aria-label={summary}>
        <div className={styles.line}>
          <span className={styles.passed} style={{ width: percent(day, now) }} />
          {future.map((tick) => (
            <FutureTickMark key={tick.at} tick={tick} left={percent(day, tick.at)} />
          ))}
          {past.map((tick) => (
            <PastTickMark key={tick.at} tick={tick} left={percent(day, tick.at)} />
          ))}
          <span className={styles.now} style={{ left: percent(day, now) }} />
        </div>
        <div className={styles.hours}>
          {hoursOf(day, 3).map((at, i, all) => (
            <span
              key={at}
              className={cx(i % 2 === 1 && styles.minor)}
              style={{ left: percent(day, at) }}
              data-edge={i === 0 ? "first" : i === all.length - 1 ? "last" : undefined}
            >
              {clock(at)}
            </span>
          ))}
        </div>
      </div>
    </Section>
  );
}

function PastTickMark({ tick, left }: { tick: PastTick; left: string }) {
  const navigate = useNavigate();
  const open = () => {
    const worst = tick.runs.find((run) => stateTone(run.state) === tick.tone) ?? tick.runs[0];
    if (worst) void navigate({ to: "/runs/$runId", params: { runId: worst.id } });
  };
  return (
    <span
      className={cx(styles.tick, styles[tick.tone], styles[tickHeight(tick.runs.length)])}
      style={{ left }}
      title={tick.runs.map(runLabel).join("\n")}
      onClick={open}
    />
  );
}

function FutureTickMark({ tick, left }: { tick: FutureTick; left: string }) {
  const title = [...new Set(tick.names)].map((name) => `${name}, about ${clock(tick.at)}`).join("\n");
  return (
    <span
      className={cx(styles.tick, styles.future, styles[tickHeight(tick.names.length)])}
      style={{ left }}
      title={title}
    />
  );
}

function runLabel(run: RunView): string {
  const outcome = outcomeSummary(run);
  return `${clock(run.startedAtMs ?? run.createdAtMs)} ${run.jobName}: ${stateLabel(shownState(run))}${outcome === "" ? "" : `. ${outcome}`}`;
}

function tickHeight(count: number): "one" | "few" | "many" {
  return count === 1 ? "one" : count < 4 ? "few" : "many";
}

function percent({ begin, end }: { begin: number; end: number }, at: number): string {
  return `${Math.max(0, Math.min(100, ((at - begin) / (end - begin)) * 100))}%`;
}

function todaySummary(runs: readonly RunView[] | undefined, coming: number): string {
  if (!runs) return "";
  const failed = runs.filter((run) => stateTone(run.state) === "bad").length;
  return [plural(runs.length, "run"), failed > 0 && `${failed} failed`, coming > 0 && `${coming} to come`]
    .filter(Boolean)
    .join(" · ");
}
