/* Switch, number and text settings. Each saves by itself. */

import type { ReactNode } from "react";

import { Switch } from "@/components/Choice";
import { NumberField, TextArea, TextField } from "@/components/Field";
import type { ConfigView } from "@/platform";

import { overridingVariable } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSetting, useTypedValue } from "./useSetting";

interface Named {
  config: ConfigView;
  name: string;
  title: string;
  help?: ReactNode;
}

export function SwitchSetting({ config, name, title, help, isSelected }: Named & { isSelected: boolean }) {
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  return (
    <SettingRow title={title} help={help} saveState={saveState} overridden={overridden}>
      <Switch
        aria-label={title}
        isSelected={isSelected}
        isDisabled={overridden !== undefined || saveState.kind === "saving"}
        onChange={(on) => void set(on)}
      />
    </SettingRow>
  );
}

/** Saved on blur and Enter. */
export function NumberSetting({
  config,
  name,
  title,
  help,
  value,
  toWire = (number) => number,
  unit,
  least = 1,
  most,
}: Named & { value: number; toWire?: (value: number) => number; unit?: string; least?: number; most: number }) {
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  const [typed, setTyped] = useTypedValue(value);
  const change = (next: number) => {
    setTyped(next);
    if (!Number.isNaN(next) && next !== value) void set(toWire(next));
  };
  return (
    <SettingRow title={title} help={help} saveState={saveState} overridden={overridden}>
      <NumberField
        label={title}
        labelHidden
        unit={unit}
        value={typed}
        onChange={change}
        minValue={least}
        maxValue={most}
        isDisabled={overridden !== undefined}
        className={styles.number}
      />
    </SettingRow>
  );
}

/** Saved on blur; empty removes the setting. */
export function TextSetting({ config, name, title, help, value, rows }: Named & { value: string; rows?: number }) {
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  const [typed, setTyped] = useTypedValue(value);
  const save = () => {
    const next = typed.trim();
    if (next !== value) void set(next === "" ? null : next);
  };
  const field = {
    label: title,
    labelHidden: true,
    value: typed,
    onChange: setTyped,
    onBlur: save,
    isDisabled: overridden !== undefined,
  };
  return (
    <SettingRow title={title} help={help} saveState={saveState} overridden={overridden} tall={rows !== undefined}>
      {rows === undefined ? (
        <TextField {...field} className={styles.select} />
      ) : (
        <TextArea {...field} rows={rows} className={styles.wide} />
      )}
    </SettingRow>
  );
}
