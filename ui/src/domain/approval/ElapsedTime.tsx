/* Time since an approval was requested. Not a live region. */

import { useEngineNow } from "@/components/engineLost";
import { absolute } from "@/format/time";

import { elapsedLabel } from "./decisionText";

const minute = 60_000;

interface Props {
  sinceMs: number;
  className?: string;
}

export function ElapsedTime({ sinceMs, className }: Props) {
  const coarse = useEngineNow(minute / 2);
  return coarse - sinceMs < minute ? (
    <Ticking sinceMs={sinceMs} className={className} />
  ) : (
    <ElapsedLabel sinceMs={sinceMs} now={coarse} className={className} />
  );
}

function Ticking(props: Props) {
  return <ElapsedLabel {...props} now={useEngineNow(1_000)} />;
}

function ElapsedLabel({ sinceMs, now, className }: Props & { now: number }) {
  return (
    <time className={className} dateTime={new Date(sinceMs).toISOString()} title={`Requested ${absolute(sinceMs)}`}>
      {elapsedLabel(now - sinceMs)}
    </time>
  );
}
