/* How long a question waits already. It is drawn again when its words can change, each second of the first minute and then
   every half, by the page's one timer. Like the countdown it is not a live region. */

import { useShownNow } from "@/components/gone";
import { absolute } from "@/format/time";

import { waitedWords } from "./words";

const minute = 60_000;

interface Props {
  sinceMs: number;
  className?: string;
}

export function Waited({ sinceMs, className }: Props) {
  const coarse = useShownNow(minute / 2);
  return coarse - sinceMs < minute ? <Ticking sinceMs={sinceMs} className={className} /> : <Shown sinceMs={sinceMs} now={coarse} className={className} />;
}

function Ticking(props: Props) {
  return <Shown {...props} now={useShownNow(1_000)} />;
}

function Shown({ sinceMs, now, className }: Props & { now: number }) {
  return (
    <time className={className} dateTime={new Date(sinceMs).toISOString()} title={`Asked ${absolute(sinceMs)}`}>
      {waitedWords(now - sinceMs)}
    </time>
  );
}
