/* An instant: relative, with the absolute time on hover, and the zone's name when it is not this computer's. It stands still while
   the engine is away: nothing comes nearer then. */

import { absolute, clock, foreignZone, relative, tickFor, when, whenWithin } from "@/format/time";

import { useShownNow } from "./gone";
import styles from "./Time.module.css";

interface Props {
  at: number;
  /** The job's zone, when the instant belongs to one. */
  zone?: string;
  /** `relative` (in 2 h), `when` (Tomorrow 07:30), `within` a sentence (tomorrow 07:30), `clock` (07:30), or `log`: relative for a
      day, then `when`. */
  as?: "relative" | "when" | "within" | "clock" | "log";
  className?: string;
}

export function Time({ at, zone, as = "relative", className }: Props) {
  const coarse = useShownNow(30_000);
  const shown = as !== "log" ? as : Math.abs(coarse - at) < 20 * 3_600_000 ? "relative" : "when";
  const near = shown === "relative" && tickFor(at - coarse) < 30_000;
  return near ? <Ticking at={at} className={className} /> : <Shown at={at} zone={zone} as={shown} now={coarse} className={className} />;
}

function Ticking({ at, className }: { at: number; className?: string }) {
  return <Shown at={at} as="relative" now={useShownNow(1_000)} className={className} />;
}

const words = { when, within: whenWithin, clock: (at: number, _: number, zone?: string) => clock(at, zone) };

function Shown({ at, zone, as, now, className }: Omit<Props, "as"> & { as: Exclude<Props["as"], "log" | undefined>; now: number }) {
  const foreign = as === "relative" ? undefined : foreignZone(zone);
  const text = as === "relative" ? relative(at, now) : words[as](at, now, zone);
  return (
    <time className={className} dateTime={new Date(at).toISOString()} title={absolute(at, zone)}>
      {text}
      {foreign !== undefined && <span className={styles.zone}> {foreign}</span>}
    </time>
  );
}
