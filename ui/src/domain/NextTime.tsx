/* Time of the next slot, or the reason why it is skipped. */

import { Time } from "@/components/Time";
import { absolute } from "@/format/time";
import type { CronStatus } from "@/platform";

import { skipLabel } from "./skipReason";

interface Props {
  at: number;
  zone?: string;
  as?: "relative" | "log";
  /** Scheduler status; undefined counts as running. */
  cron: CronStatus | undefined;
  className?: string;
}

export function NextTime({ at, zone, as, cron, className }: Props) {
  const leftOut = skipLabel(cron, at);
  if (leftOut === undefined) return <Time at={at} zone={zone} as={as} className={className} />;
  return (
    <time className={className} dateTime={new Date(at).toISOString()} title={absolute(at, zone)}>
      {leftOut}
    </time>
  );
}
