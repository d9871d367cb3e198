/* Row of a run: state, job, outcome, time. The state label is hidden for successful runs with an outcome. The row's title shows truncated text, because the link covers the row. */

import { memo } from "react";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Time } from "@/components/Time";
import { duration } from "@/format/amount";
import { absolute } from "@/format/time";
import { runTriggerLabels, type RunView } from "@/platform";

import { isLive, shortStateLabel, shownState, StateGlyph, stateLabel } from "./runState";
import styles from "./RunRow.module.css";
import { costLabel } from "./steps";
import { outcomeSummary } from "./labels";

interface Props {
  run: RunView;
  tabIndex?: 0 | -1;
  /** Omits the job on pages of that job. */
  without?: "job";
}

/** Memoized: scrolling renders the list every frame. */
export const RunRow = memo(function RunRow({ run, tabIndex, without }: Props) {
  const outcome = outcomeSummary(run);
  const cost = costOf(run);
  const state = shownState(run);
  const saysItself = run.state === "succeeded" && outcome !== "";
  const word = !saysItself && (
    <span className={cx(row.small, styles.word)} aria-hidden>
      {shortStateLabel(state)}
    </span>
  );
  return (
    <div className={cx(row.row, styles.run, without !== "job" && styles.named)} title={outcome || undefined}>
      <StateGlyph state={state} />
      {without === "job" && outcome !== "" && word}
      <RowLink
        href={`/runs/${encodeURIComponent(run.id)}`}
        tabIndex={tabIndex}
        className={cx(row.link, without === "job" ? styles.sole : styles.name)}
      >
        {without === "job" ? outcome || stateLabel(state) : run.jobName}
      </RowLink>
      {run.slotCount > 1 && <SlotCount count={run.slotCount} first={run.firstSlotAtMs} last={run.slotAtMs} />}
      {without !== "job" && word}
      {without !== "job" && <span className={cx(row.text, styles.outcome)}>{outcome}</span>}
      {run.trigger !== "schedule" && (
        <span className={cx(row.small, styles.trigger)}>{runTriggerLabels[run.trigger]}</span>
      )}
      {cost !== undefined && <span className={cx(row.small, styles.cost)}>{cost}</span>}
      <span className={cx(row.small, row.end, styles.took)}>{run.durationMs !== null && duration(run.durationMs)}</span>
      <span className={cx(row.small, row.end, styles.when)}>
        <Time at={run.startedAtMs ?? run.createdAtMs} as="log" />
      </span>
    </div>
  );
});

/** Number of slots that the row covers. */
function SlotCount({ count, first, last }: { count: number; first: number | null; last: number | null }) {
  const span = first === null || last === null ? "" : `, from ${absolute(first)} to ${absolute(last)}`;
  return (
    <span className={cx(row.small, styles.trigger)} title={`Covers ${count.toLocaleString()} slots${span}`}>
      ×{count.toLocaleString()}
    </span>
  );
}

/** Cost of a finished run. */
function costOf(run: RunView): string | undefined {
  return isLive(run.state) ? undefined : costLabel(run.usage);
}
