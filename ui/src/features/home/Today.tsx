/* Today on one line: what has run, as ticks in the tone of its outcome, and what is still to come, hollow. It is a
   picture of the two lists below it; those are the way for keyboards and screen readers. */

import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { cx } from "@/components/cx";
import { useShownNow } from "@/components/gone";
import { Section } from "@/components/Page";
import { useFirstJobs } from "@/data/jobs";
import { useStatus, useUpcoming } from "@/data/queries";
import { useRunsSince } from "@/data/runs";
import { leftOutBecause } from "@/domain/firing";
import { outcomeWords } from "@/domain/words";
import { shownState, stateTone, stateWord } from "@/domain/runState";
import { plural } from "@/format/amount";
import { clock } from "@/format/time";
import type { RunView } from "@/platform";

import { dayAround, type FutureTick, futureTicks, hoursOf, type PastTick, pastTicks } from "./day";
import styles from "./Today.module.css";

export function Today() {
  const now = useShownNow();
  const { begin, end } = dayAround(now);
  const day = useMemo(() => ({ begin, end }), [begin, end]);
  const runs = useRunsSince(begin).data?.runs;
  const upcoming = useUpcoming(useFirstJobs().data?.jobs ?? [], end);
  const past = useMemo(() => pastTicks(day, runs ?? []), [day, runs]);
  const cron = useStatus().data?.cron;
  const coming = upcoming.flatMap(({ job, slots }) => slots.filter((at) => at > now && leftOutBecause(cron, at) === undefined).map((at) => ({ at, name: job.job.name })));
  const future = futureTicks(day, coming);
  const summary = summaryOf(runs, coming.length);

  return (
    <Section title="Today" aside={summary}>
      <div className={styles.strip} role="img" aria-label={summary}>
        <div className={styles.line}>
          <span className={styles.passed} style={{ width: percent(day, now) }} />
          {future.map((tick) => (
            <Coming key={tick.at} tick={tick} left={percent(day, tick.at)} />
          ))}
          {past.map((tick) => (
            <Happened key={tick.at} tick={tick} left={percent(day, tick.at)} />
          ))}
          <span className={styles.now} style={{ left: percent(day, now) }} />
        </div>
        <div className={styles.hours}>
          {hoursOf(day, 3).map((at, i, all) => (
            <span key={at} className={cx(i % 2 === 1 && styles.minor)} style={{ left: percent(day, at) }} data-edge={i === 0 ? "first" : i === all.length - 1 ? "last" : undefined}>
              {clock(at)}
            </span>
          ))}
        </div>
      </div>
    </Section>
  );
}

function Happened({ tick, left }: { tick: PastTick; left: string }) {
  const navigate = useNavigate();
  const open = () => {
    const worst = tick.runs.find((run) => stateTone(run.state) === tick.tone) ?? tick.runs[0];
    if (worst) void navigate({ to: "/runs/$runId", params: { runId: worst.id } });
  };
  return <span className={cx(styles.tick, styles[tick.tone], styles[heightOf(tick.runs.length)])} style={{ left }} title={tick.runs.map(lineOf).join("\n")} onClick={open} />;
}

function Coming({ tick, left }: { tick: FutureTick; left: string }) {
  const title = [...new Set(tick.names)].map((name) => `${name}, about ${clock(tick.at)}`).join("\n");
  return <span className={cx(styles.tick, styles.future, styles[heightOf(tick.names.length)])} style={{ left }} title={title} />;
}

function lineOf(run: RunView): string {
  const outcome = outcomeWords(run);
  return `${clock(run.startedAtMs ?? run.createdAtMs)} ${run.jobName}: ${stateWord(shownState(run))}${outcome === "" ? "" : `. ${outcome}`}`;
}

function heightOf(count: number): "one" | "few" | "many" {
  return count === 1 ? "one" : count < 4 ? "few" : "many";
}

function percent({ begin, end }: { begin: number; end: number }, at: number): string {
  return `${Math.max(0, Math.min(100, ((at - begin) / (end - begin)) * 100))}%`;
}

function summaryOf(runs: readonly RunView[] | undefined, coming: number): string {
  if (!runs) return "";
  const failed = runs.filter((run) => stateTone(run.state) === "bad").length;
  return [plural(runs.length, "run"), failed > 0 && `${failed} failed`, coming > 0 && `${coming} to come`].filter(Boolean).join(" · ");
}
