/* Above the page while the engine is away: that nothing fires, and from when on nothing that stands here is true any more. A
   connection that is back within seconds is no matter, and is not spoken of. */

import { Unplug } from "lucide-react";
import { useEffect, useState } from "react";

import { Notice } from "@/components/Notice";
import { useNow } from "@/components/useNow";
import { isUnreachable } from "@/data/client";
import { useShellInfo, useStatus } from "@/data/queries";
import { whenWithin } from "@/format/time";
import type { ShellInfo } from "@/platform";

import styles from "./Gone.module.css";

const blinkMs = 3_000;

/** Since when nobody answers, once that is no blink any more. A stream that is broken is not enough: whoever answers is there. */
export function useGoneSince(): number | undefined {
  const isUnanswered = isUnreachable(useStatus().error);
  // The app's own window has nothing that could break: its calls wait while the engine is starting, and its shell knows.
  const place = useShellInfo().data?.engine;
  const isLost = isUnanswered || place === "starting" || place === "failed";
  const [since, setSince] = useState<number>();
  useEffect(() => {
    if (!isLost) return;
    const at = Date.now();
    const timer = setTimeout(() => setSince(at), blinkMs);
    return () => {
      clearTimeout(timer);
      setSince(undefined);
    };
  }, [isLost]);
  return isLost ? since : undefined;
}

export function Gone({ since }: { since: number | undefined }) {
  return <div role="status" className={styles.gone}>{since !== undefined && <div className={styles.inside}><Told since={since} /></div>}</div>;
}

function Told({ since }: { since: number }) {
  const now = useNow(60_000);
  const place = useShellInfo().data?.engine;
  const isKnown = useStatus().data !== undefined;
  return (
    <Notice tone="accent" icon={Unplug}>
      {wordsOf(place)}{isKnown && ` Shown is what was known at ${whenWithin(since, now)}.`}
    </Notice>
  );
}

function wordsOf(place: ShellInfo["engine"] | undefined): string {
  if (place === "starting") return "The engine of this app is starting, so nothing fires yet.";
  if (place === "failed") return "The engine of this app could not start, so nothing fires. Quit Rouse and start it again.";
  return "Rouse is not running, so nothing fires.";
}
