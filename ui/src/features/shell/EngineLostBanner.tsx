/* Banner while the engine is lost. Interruptions of a few seconds are ignored. */

import { Unplug } from "lucide-react";
import { useEffect, useState } from "react";

import { Notice } from "@/components/Notice";
import { useNow } from "@/components/useNow";
import { isUnreachable } from "@/data/client";
import { useShellInfo, useStatus } from "@/data/queries";
import { computerStateText } from "@/domain/computers";
import { whenWithin } from "@/format/time";
import type { ShellInfo } from "@/platform";

import styles from "./EngineLostBanner.module.css";

const graceMs = 3_000;

/** Time since the engine stopped responding. A broken event stream alone does not count. */
export function useEngineLostSince(): number | undefined {
  const isUnanswered = isUnreachable(useStatus().error);
  // In the app's window calls wait while the engine starts, so the shell's state counts.
  const place = useShellInfo().data?.engine;
  const isLost = isUnanswered || place === "starting" || place === "failed";
  const [since, setSince] = useState<number>();
  useEffect(() => {
    if (!isLost) return;
    const at = Date.now();
    const timer = setTimeout(() => setSince(at), graceMs);
    return () => {
      clearTimeout(timer);
      setSince(undefined);
    };
  }, [isLost]);
  return isLost ? since : undefined;
}

export function EngineLostBanner({ since }: { since: number | undefined }) {
  return (
    <div role="status" className={styles.gone}>
      {since !== undefined && (
        <div className={styles.inside}>
          <BannerText since={since} />
        </div>
      )}
    </div>
  );
}

function BannerText({ since }: { since: number }) {
  const now = useNow(60_000);
  const { data: shell } = useShellInfo();
  const isKnown = useStatus().data !== undefined;
  return (
    <Notice tone="accent" icon={Unplug}>
      {stateText(shell ?? undefined)}
      {isKnown && ` Data as of ${whenWithin(since, now)}.`}
    </Notice>
  );
}

function stateText(shell: ShellInfo | undefined): string {
  const other = shell?.computers.find(({ name }) => name === shell.computer);
  if (other) return `${other.name} · ${computerStateText(other)}`;
  const place = shell?.engine;
  if (place === "starting") return "Rouse is starting. Jobs run once it is ready.";
  if (place === "failed") return "Rouse could not start, so no job runs. Quit and restart Rouse.";
  return "Rouse is not running, so no job runs.";
}
