/* How long a question still waits. It counts in seconds when that begins to matter, and warns by a glyph and a word, not by
   colour alone. It is not a live region: a clock that is read aloud every second says nothing else any more. */

import { Hourglass, TriangleAlert } from "lucide-react";

import { cx } from "@/components/cx";
import { useNow } from "@/components/useNow";
import { absolute } from "@/format/time";

import styles from "./Countdown.module.css";
import { leftWords, warnBelowMs } from "./words";

interface Props {
  endsAtMs: number;
  /** Only the time, where the place says what it is. */
  short?: boolean;
}

export function Countdown({ endsAtMs, short }: Props) {
  const left = endsAtMs - useNow(1_000);
  const isOver = left <= 0;
  const isNear = left < warnBelowMs;
  return (
    <span className={cx(styles.countdown, isNear && styles.near)} title={absolute(endsAtMs)}>
      {isNear ? <TriangleAlert size={13} aria-hidden /> : <Hourglass size={13} aria-hidden />}
      {isOver ? "The time is over" : short ? leftWords(left) : `${isNear ? "Only " : ""}${leftWords(left)} left`}
    </span>
  );
}
