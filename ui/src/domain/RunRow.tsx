/* One run in a list: state, job, what came of it, and when. Used wherever runs are listed. The word of its state stands before
   what came of it at every width, because a reason alone does not say whether a run was skipped or missed; what came of one
   that went well says so by itself. A reader of the screen has the word from the glyph already. What is cut off is said by
   the row when one points at it, for its link lies over all of it. */

import { memo } from "react";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Time } from "@/components/Time";
import { duration } from "@/format/amount";
import { absolute } from "@/format/time";
import type { RunView } from "@/platform";

import { isLive, shortStateWord, shownState, StateGlyph, stateWord } from "./runState";
import styles from "./RunRow.module.css";
import { costWords } from "./steps";
import { outcomeWords, triggerWord } from "./words";

interface Props {
  run: RunView;
  tabIndex?: 0 | -1;
  /** Leaves out what the surrounding page says already. */
  without?: "job";
}

/** Scrolling renders the list with every frame; rows that did not change are left alone. */
export const RunRow = memo(function RunRow({ run, tabIndex, without }: Props) {
  const outcome = outcomeWords(run);
  const cost = costOf(run);
  const state = shownState(run);
  const saysItself = run.state === "succeeded" && outcome !== "";
  const word = !saysItself && <span className={cx(row.small, styles.word)} aria-hidden>{shortStateWord(state)}</span>;
  return (
    <div className={cx(row.row, styles.run, without !== "job" && styles.named)} title={outcome || undefined}>
      <StateGlyph state={state} />
      {without === "job" && outcome !== "" && word}
      <RowLink href={`/runs/${encodeURIComponent(run.id)}`} tabIndex={tabIndex} className={cx(row.link, without === "job" ? styles.sole : styles.name)}>
        {without === "job" ? outcome || stateWord(state) : run.jobName}
      </RowLink>
      {run.standsFor > 1 && <Slots count={run.standsFor} first={run.firstSlotAtMs} last={run.slotAtMs} />}
      {without !== "job" && word}
      {without !== "job" && <span className={cx(row.text, styles.outcome)}>{outcome}</span>}
      {run.trigger !== "schedule" && <span className={cx(row.small, styles.trigger)}>{triggerWord(run.trigger)}</span>}
      {cost !== undefined && <span className={cx(row.small, styles.cost)}>{cost}</span>}
      <span className={cx(row.small, row.end, styles.took)}>{run.durationMs !== null && duration(run.durationMs)}</span>
      <span className={cx(row.small, row.end, styles.when)}>
        <Time at={run.startedAtMs ?? run.createdAtMs} as="log" />
      </span>
    </div>
  );
});

/** A row that stands for several slots says for how many, and which is the first and the last. */
function Slots({ count, first, last }: { count: number; first: number | null; last: number | null }) {
  const span = first === null || last === null ? "" : `, from ${absolute(first)} to ${absolute(last)}`;
  return (
    <span className={cx(row.small, styles.trigger)} title={`Stands for ${count.toLocaleString()} slots${span}`}>
      ×{count.toLocaleString()}
    </span>
  );
}

/** What it cost, once it is over. Most jobs cost nothing, so no room is kept for it. */
function costOf(run: RunView): string | undefined {
  return isLive(run.state) ? undefined : costWords(run.usage);
}
