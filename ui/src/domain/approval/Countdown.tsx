/* Time left for an approval, with a warning icon when short. Stands still while the engine is lost. Not a live
   region. */

import { Hourglass, TriangleAlert } from "lucide-react";
import { use } from "react";

import { cx } from "@/components/cx";
import { EngineLostContext, useEngineNow } from "@/components/engineLost";
import { absolute } from "@/format/time";

import styles from "./Countdown.module.css";
import { remainingLabel, urgentBelowMs } from "./decisionText";

interface Props {
  endsAtMs: number;
  /** Shows only the time. */
  short?: boolean;
}

export function Countdown({ endsAtMs, short }: Props) {
  const isGone = use(EngineLostContext) !== undefined;
  const left = endsAtMs - useEngineNow(1_000);
  const isOver = left <= 0;
  const isNear = !isGone && left < urgentBelowMs;
  return (
    <span className={cx(styles.countdown, isNear && styles.near)} title={absolute(endsAtMs)}>
      {isNear ? <TriangleAlert size={13} aria-hidden /> : <Hourglass size={13} aria-hidden />}
      {isOver ? "Expired" : short ? remainingLabel(left) : `${isNear ? "Only " : ""}${remainingLabel(left)} left`}
    </span>
  );
}
