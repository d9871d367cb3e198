/* Optional daily time range. Saves once both times are set. */

import { Switch } from "@/components/Choice";
import { TimeField } from "@/components/DateTime";
import type { ConfigView, DayHours } from "@/platform";

import { overridingVariable } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSetting, useTypedValue } from "./useSetting";

interface Props {
  config: ConfigView;
  name: string;
  title: string;
  help?: React.ReactNode;
  hours: DayHours | null;
  /** Range set by the switch. */
  defaultHours: { from: string; to: string };
}

export function DayHoursSetting({ config, name, title, help, hours, defaultHours }: Props) {
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  const [typed, setTyped] = useTypedValue(hours, (a, b) => a?.from === b?.from && a?.to === b?.to);
  const change = (part: Partial<DayHours>) => {
    const next = { ...(typed ?? { ...defaultHours, tz: null }), ...part };
    setTyped(next);
    const differs = next.from !== hours?.from || next.to !== hours.to;
    if (next.from !== "" && next.to !== "" && differs) void set({ from: next.from, to: next.to });
  };
  return (
    <SettingRow
      title={title}
      help={
        hours?.tz ? (
          <>
            {help} Time zone: {hours.tz}.
          </>
        ) : (
          help
        )
      }
      saveState={saveState}
      overridden={overridden}
    >
      {hours !== null && (
        <span className={styles.hours}>
          <TimeField
            label={`${title}: from`}
            labelHidden
            value={typed?.from ?? ""}
            onChange={(from) => change({ from })}
            isDisabled={overridden !== undefined}
          />
          <span aria-hidden>–</span>
          <TimeField
            label={`${title}: to`}
            labelHidden
            value={typed?.to ?? ""}
            onChange={(to) => change({ to })}
            isDisabled={overridden !== undefined}
          />
        </span>
      )}
      <Switch
        aria-label={title}
        isSelected={hours !== null}
        isDisabled={overridden !== undefined || saveState.kind === "saving"}
        onChange={(on) => void set(on ? defaultHours : null)}
      />
    </SettingRow>
  );
}
