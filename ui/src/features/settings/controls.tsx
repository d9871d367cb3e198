/* The controls that settings are made of: a switch, a number, a text. Each is saved by itself and says so beside itself. */

import type { ReactNode } from "react";

import { Switch } from "@/components/Choice";
import { NumberField, TextArea, TextField } from "@/components/Field";
import type { ConfigView } from "@/platform";

import { overriddenBy } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useSetting, useTyped } from "./useSetting";

interface Named {
  config: ConfigView;
  name: string;
  title: string;
  help?: ReactNode;
}

export function SwitchSetting({ config, name, title, help, isSelected }: Named & { isSelected: boolean }) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden}>
      <Switch aria-label={title} isSelected={isSelected} isDisabled={overridden !== undefined || fate.kind === "saving"} onChange={(on) => void set(on)} />
    </Setting>
  );
}

/** Saved when the field is left or Enter is pressed, not with every key. */
export function NumberSetting({ config, name, title, help, value, toWire = (number) => number, unit, least = 1, most }: Named & { value: number; toWire?: (value: number) => number; unit?: string; least?: number; most: number }) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  const [typed, setTyped] = useTyped(value);
  const change = (next: number) => {
    setTyped(next);
    if (!Number.isNaN(next) && next !== value) void set(toWire(next));
  };
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden}>
      <NumberField label={title} labelHidden unit={unit} value={typed} onChange={change} minValue={least} maxValue={most} isDisabled={overridden !== undefined} className={styles.number} />
    </Setting>
  );
}

/** Saved when the field is left; an empty one removes the setting. */
export function TextSetting({ config, name, title, help, value, rows }: Named & { value: string; rows?: number }) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  const [typed, setTyped] = useTyped(value);
  const save = () => {
    const next = typed.trim();
    if (next !== value) void set(next === "" ? null : next);
  };
  const field = { label: title, labelHidden: true, value: typed, onChange: setTyped, onBlur: save, isDisabled: overridden !== undefined };
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden} tall={rows !== undefined}>
      {rows === undefined ? <TextField {...field} className={styles.select} /> : <TextArea {...field} rows={rows} className={styles.wide} />}
    </Setting>
  );
}
