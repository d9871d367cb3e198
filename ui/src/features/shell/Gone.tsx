/* Above the page while the engine is away: that nothing fires, and from when on nothing that stands here is true any more. A
   connection that is back within seconds is no matter, and is not spoken of. */

import { Unplug } from "lucide-react";
import { useEffect, useState } from "react";

import { Notice } from "@/components/Notice";
import { useNow } from "@/components/useNow";
import { isUnreachable } from "@/data/client";
import { useConnection } from "@/data/connection";
import { useShellInfo, useStatus } from "@/data/queries";
import { whenWithin } from "@/format/time";
import type { ShellInfo } from "@/platform";

import styles from "./Gone.module.css";

const blinkMs = 3_000;

/** Since when nobody answers, once that is no blink any more. */
export function useGoneSince(): number | undefined {
  const connection = useConnection();
  // The app's own window has no stream that could break; its calls fail.
  const isUnanswered = isUnreachable(useStatus().error);
  const isLost = connection === "lost" || isUnanswered;
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
  const { data: shell } = useShellInfo();
  return (
    <Notice tone="accent" icon={Unplug}>
      {wordsOf(shell ?? null)} Shown is what was known at {whenWithin(since, now)}.
    </Notice>
  );
}

function wordsOf(shell: ShellInfo | null): string {
  if (shell === null) return "Rouse is not running, so nothing fires.";
  if (shell.engine === "elsewhere") return "The Rouse that this window is attached to does not answer, so nothing fires.";
  return "The engine of this app does not answer, so nothing fires. Quit Rouse and start it again if that stays so.";
}
