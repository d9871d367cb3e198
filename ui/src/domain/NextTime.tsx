/* When something comes next, or that it will be left out then: nobody is to wait for what does not come. */

import { Time } from "@/components/Time";
import { absolute } from "@/format/time";
import type { CronStatus } from "@/platform";

import { leftOutWords } from "./firing";

interface Props {
  at: number;
  zone?: string;
  as?: "relative" | "log";
  /** Whether anything fires; while nobody knows, it is taken to. */
  cron: CronStatus | undefined;
  className?: string;
}

export function NextTime({ at, zone, as, cron, className }: Props) {
  const leftOut = leftOutWords(cron, at);
  if (leftOut === undefined) return <Time at={at} zone={zone} as={as} className={className} />;
  return (
    <time className={className} dateTime={new Date(at).toISOString()} title={absolute(at, zone)}>
      {leftOut}
    </time>
  );
}
