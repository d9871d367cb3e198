/* How long a question still waits. It counts in seconds when that begins to matter, and warns by a glyph and a word, not by
   colour alone. While the engine is away it stands still: nobody is hurried to an answer that nobody takes. It is not a live
   region: a clock that is read aloud every second says nothing else any more. */

import { Hourglass, TriangleAlert } from "lucide-react";
import { use } from "react";

import { cx } from "@/components/cx";
import { GoneSinceContext, useShownNow } from "@/components/gone";
import { absolute } from "@/format/time";

import styles from "./Countdown.module.css";
import { leftWords, warnBelowMs } from "./words";

interface Props {
  endsAtMs: number;
  /** Only the time, where the place says what it is. */
  short?: boolean;
}

export function Countdown({ endsAtMs, short }: Props) {
  const isGone = use(GoneSinceContext) !== undefined;
  const left = endsAtMs - useShownNow(1_000);
  const isOver = left <= 0;
  const isNear = !isGone && left < warnBelowMs;
  return (
    <span className={cx(styles.countdown, isNear && styles.near)} title={absolute(endsAtMs)}>
      {isNear ? <TriangleAlert size={13} aria-hidden /> : <Hourglass size={13} aria-hidden />}
      {isOver ? "The time is over" : short ? leftWords(left) : `${isNear ? "Only " : ""}${leftWords(left)} left`}
    </span>
  );
}
