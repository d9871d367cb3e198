/* Instant as relative or absolute time, with the full time on hover. Stands still while the engine is lost. */

import { absolute, clock, otherZoneName, relative, refreshIntervalMs, when, whenWithin } from "@/format/time";

import { useEngineNow } from "./engineLost";
import styles from "./Time.module.css";

interface Props {
  at: number;
  /** Zone of the job; named unless local. */
  zone?: string;
  /** `relative` (in 2 h), `when` (Tomorrow 07:30), `within` a sentence (tomorrow 07:30), `clock` (07:30), or `log`:
      relative for a day, then `when`. */
  as?: "relative" | "when" | "within" | "clock" | "log";
  className?: string;
}

export function Time({ at, zone, as = "relative", className }: Props) {
  const coarse = useEngineNow(30_000);
  const shown = as !== "log" ? as : Math.abs(coarse - at) < 20 * 3_600_000 ? "relative" : "when";
  const near = shown === "relative" && refreshIntervalMs(at - coarse) < 30_000;
  return near ? (
    <Ticking at={at} className={className} />
  ) : (
    <TimeLabel at={at} zone={zone} as={shown} now={coarse} className={className} />
  );
}

function Ticking({ at, className }: { at: number; className?: string }) {
  return <TimeLabel at={at} as="relative" now={useEngineNow(1_000)} className={className} />;
}

const words = { when, within: whenWithin, clock: (at: number, _: number, zone?: string) => clock(at, zone) };

function TimeLabel({
  at,
  zone,
  as,
  now,
  className,
}: Omit<Props, "as"> & { as: Exclude<Props["as"], "log" | undefined>; now: number }) {
  const foreign = as === "relative" ? undefined : otherZoneName(zone);
  const text = as === "relative" ? relative(at, now) : words[as](at, now, zone);
  return (
    <time className={className} dateTime={new Date(at).toISOString()} title={absolute(at, zone)}>
      {text}
      {foreign !== undefined && <span className={styles.zone}> {foreign}</span>}
    </time>
  );
}
