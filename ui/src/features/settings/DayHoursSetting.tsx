/* A stretch of every day, or none: a switch, and two times of day while it is on. Saved when both times are there. */

import { Switch } from "@/components/Choice";
import { TimeField } from "@/components/DateTime";
import type { ConfigView, DayHours } from "@/platform";

import { overriddenBy } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useSetting, useTyped } from "./useSetting";

interface Props {
  config: ConfigView;
  name: string;
  title: string;
  help?: React.ReactNode;
  hours: DayHours | null;
  /** What the switch begins with. */
  usual: { from: string; to: string };
}

export function DayHoursSetting({ config, name, title, help, hours, usual }: Props) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  const [typed, setTyped] = useTyped(hours, (a, b) => a?.from === b?.from && a?.to === b?.to);
  const change = (part: Partial<DayHours>) => {
    const next = { ...(typed ?? { ...usual, tz: null }), ...part };
    setTyped(next);
    const differs = next.from !== hours?.from || next.to !== hours.to;
    if (next.from !== "" && next.to !== "" && differs) void set({ from: next.from, to: next.to });
  };
  return (
    <Setting title={title} help={hours?.tz ? <>{help} In the zone {hours.tz}.</> : help} fate={fate} overridden={overridden}>
      {hours !== null && (
        <span className={styles.hours}>
          <TimeField label={`${title}: from`} labelHidden value={typed?.from ?? ""} onChange={(from) => change({ from })} isDisabled={overridden !== undefined} />
          <span aria-hidden>–</span>
          <TimeField label={`${title}: to`} labelHidden value={typed?.to ?? ""} onChange={(to) => change({ to })} isDisabled={overridden !== undefined} />
        </span>
      )}
      <Switch
        aria-label={title}
        isSelected={hours !== null}
        isDisabled={overridden !== undefined || fate.kind === "saving"}
        onChange={(on) => void set(on ? usual : null)}
      />
    </Setting>
  );
}
