/* When the engine acts by itself: the heartbeat, and the switch that stops all firing. */

import { useState } from "react";

import { Switch } from "@/components/Choice";
import { NumberField } from "@/components/Field";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import type { ConfigView, SystemStatus } from "@/platform";

import { overriddenBy } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useSetting } from "./useSetting";

interface Props {
  config: ConfigView;
  status: SystemStatus | undefined;
}

export function HeartbeatSection({ config, status }: Props) {
  const next = status?.heartbeat.nextAtMs ?? null;
  return (
    <Section title="Heartbeat">
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="heartbeat.enabled"
          title="Wake the main conversation regularly"
          help="It reads HEARTBEAT.md in the workspace and whatever has been put into its queue. A beat with nothing to do costs nothing."
          isSelected={config.heartbeat.enabled}
        />
        <NumberSetting
          config={config}
          name="heartbeat.everyMs"
          title="Every"
          help={
            config.heartbeat.enabled && next !== null
              ? <>The next one: <Time at={next} as="when" />.{status?.heartbeat.lastSkipReason ? ` The last one did nothing: ${status.heartbeat.lastSkipReason}` : ""}</>
              : status?.heartbeat.lastSkipReason ?? undefined
          }
          value={config.heartbeat.everyMs / 60_000}
          toWire={(minutes) => Math.round(minutes * 60_000)}
          unit="minutes"
          most={10_080}
        />
      </div>
    </Section>
  );
}

export function SchedulingSection({ config, status }: Props) {
  return (
    <Section title="Scheduling">
      <div className={styles.list}>
        <SwitchSetting
          config={config}
          name="cron.enabled"
          title="Let jobs fire"
          help={config.cron.enabled ? "Off: nothing fires by itself; running by hand still works." : (status?.cron.offReason ?? "Nothing fires by itself.")}
          isSelected={config.cron.enabled}
        />
        <NumberSetting
          config={config}
          name="cron.maxConcurrentRuns"
          title="Most runs at the same time"
          help="More wait for their turn."
          value={config.cron.maxConcurrentRuns}
          toWire={(runs) => runs}
          most={64}
        />
      </div>
    </Section>
  );
}

interface Named {
  config: ConfigView;
  name: string;
  title: string;
  help?: React.ReactNode;
}

function SwitchSetting({ config, name, title, help, isSelected }: Named & { isSelected: boolean }) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden}>
      <Switch aria-label={title} isSelected={isSelected} isDisabled={overridden !== undefined || fate.kind === "saving"} onChange={(on) => void set(on)} />
    </Setting>
  );
}

/** Saved when the field is left or Enter is pressed, not with every key. */
function NumberSetting({ config, name, title, help, value, toWire, unit, most }: Named & { value: number; toWire: (value: number) => number; unit?: string; most: number }) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  const [known, setKnown] = useState(value);
  const [typed, setTyped] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const change = (next: number) => {
    setTyped(next);
    if (!Number.isNaN(next) && next !== value) void set(toWire(next));
  };
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden}>
      <NumberField label={title} labelHidden unit={unit} value={typed} onChange={change} minValue={1} maxValue={most} isDisabled={overridden !== undefined} className={styles.number} />
    </Setting>
  );
}
