/* Recent run states, oldest first. Failures are tall, missing runs low. */

import { cx } from "@/components/cx";
import { stateLabel, stateTone, type Tone } from "@/domain/runState";
import { plural } from "@/format/amount";
import type { RunState } from "@/platform";

import styles from "./Sparkline.module.css";

const heights: Record<Tone, string | undefined> = {
  good: styles.good,
  bad: styles.bad,
  calm: styles.low,
  accent: styles.quiet,
};

export function Sparkline({ states }: { states: readonly RunState[] }) {
  if (states.length === 0) return <span className={styles.spark} />;
  return (
    <span role="img" aria-label={sparklineLabel(states)} title={sparklineLabel(states)} className={styles.spark}>
      {states.map((state, i) => (
        <span key={i} className={cx(styles.bar, heightOf(state))} />
      ))}
    </span>
  );
}

function heightOf(state: RunState): string | undefined {
  return state === "nothingToReport" ? styles.quiet : heights[stateTone(state)];
}

/** `Last 5 runs: 3 succeeded, 2 failed`. */
function sparklineLabel(states: readonly RunState[]): string {
  const counts = new Map<RunState, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  const parts = [...counts].map(([state, n]) => `${n} ${stateLabel(state).toLocaleLowerCase()}`);
  return `Last ${plural(states.length, "run")}: ${parts.join(", ")}`;
}
