/* Engine state and pause menu. */

import { Pause, Play, Power, TriangleAlert } from "lucide-react";
import { use } from "react";
import { Button } from "react-aria-components";

import { cx } from "@/components/cx";
import { EngineLostContext } from "@/components/engineLost";
import { type MenuEntries, MenuButton } from "@/components/Menu";
import { toast } from "@/components/Toasts";
import { useNow } from "@/components/useNow";
import { useMay } from "@/data/access";
import { usePause, useResume } from "@/data/actions";
import { useConnection } from "@/data/connection";
import { useShellInfo, useStatus } from "@/data/queries";
import { when } from "@/format/time";
import type { SystemStatus } from "@/platform";

import { type EngineState, engineState, engineConnection, loadLabel, pauseChoices } from "./engineState";
import styles from "./EngineLine.module.css";

export function EngineLine() {
  const { data: status } = useStatus();
  const connection = engineConnection(
    useConnection(),
    use(EngineLostContext) !== undefined,
    useShellInfo().data?.engine,
  );
  const now = useNow();
  const entries = usePauseEntries(status);
  const state = engineState(status, connection, now);
  const full = [state.lead, state.text, state.tail].filter(Boolean).join(" ");
  return (
    <>
      <span className="visually-hidden" role="status">
        {state.tone === "trouble" ? full : ""}
      </span>
      <MenuButton
        label="Pause"
        entries={entries}
        placement="top start"
        header={status && <EngineDetails status={status} now={now} />}
      >
        <Button className={styles.line} isDisabled={!status} aria-label={`Engine: ${full}`}>
          <StateSign tone={state.tone} />
          {state.lead !== undefined && <span className={styles.lead}>{state.lead}</span>}
          <span className={styles.text} title={full}>
            {state.text}
          </span>
          {state.tail !== undefined && <span className={styles.tail}>{state.tail}</span>}
        </Button>
      </MenuButton>
    </>
  );
}

function StateSign({ tone }: { tone: EngineState["tone"] }) {
  if (tone === "paused") return <Pause size={13} aria-hidden className={styles.sign} />;
  if (tone === "trouble") return <TriangleAlert size={13} aria-hidden className={cx(styles.sign, styles.trouble)} />;
  return <span className={cx(styles.dot, tone === "busy" && styles.busy)} />;
}

function EngineDetails({ status: { cron }, now }: { status: SystemStatus; now: number }) {
  return (
    <div className={styles.about}>
      <p>
        {cron.next
          ? `Next: ${cron.next.name}, ${when(cron.next.atMs, now)}`
          : cron.pause
            ? "No runs while paused"
            : "Nothing scheduled"}
      </p>
      <p className={styles.quiet}>{cron.offReason ?? loadLabel(cron)}</p>
    </div>
  );
}

/** Pausing is reversible, so there is no confirmation. */
function usePauseEntries(status: SystemStatus | undefined): MenuEntries {
  const pause = usePause();
  const resume = useResume();
  const mayPause = useMay("cron.pause");
  if (!mayPause)
    return [{ id: "off", label: "This device may not pause", icon: Pause, disabled: true, onAction: () => undefined }];
  const failed = (error: Error) => toast({ title: "Could not change the pause", about: error.message });
  if (status && !status.cron.enabled) {
    return [{ id: "off", label: "Turn on in Settings", icon: Power, disabled: true, onAction: () => undefined }];
  }
  const choices = pauseChoices.map(({ id, words, until }) => ({
    id,
    label: `Pause ${words}`,
    icon: Pause,
    onAction: () => pause.mutate({ untilMs: until(Date.now()) }, { onError: failed }),
  }));
  if (!status?.cron.pause) return choices;
  return [
    { id: "resume", label: "Resume now", icon: Play, onAction: () => resume.mutate({}, { onError: failed }) },
    null,
    ...choices,
  ];
}
