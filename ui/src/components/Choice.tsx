/* Switch, checkbox, segmented control and filter chips. */

import { Check } from "lucide-react";
import type { ReactNode } from "react";
import {
  CheckboxButton,
  CheckboxField,
  type CheckboxFieldProps,
  type Key,
  SwitchButton,
  SwitchField,
  type SwitchFieldProps,
  Text,
  ToggleButton,
  ToggleButtonGroup,
} from "react-aria-components";

import styles from "./Choice.module.css";
import { cx } from "./cx";

interface Labelled {
  /** Label; omit for an `aria-label` where the row provides the name. */
  children?: ReactNode;
  help?: ReactNode;
  className?: string;
}

export function Switch({
  children,
  help,
  className,
  ...props
}: Omit<SwitchFieldProps, "children" | "className"> & Labelled) {
  return (
    <SwitchField {...props} className={cx(styles.toggle, className)}>
      <SwitchButton className={styles.switch}>
        <span className={styles.track}>
          <span className={styles.knob} />
        </span>
        {children}
      </SwitchButton>
      {help !== undefined && (
        <Text slot="description" className={styles.help}>
          {help}
        </Text>
      )}
    </SwitchField>
  );
}

export function Checkbox({
  children,
  help,
  className,
  ...props
}: Omit<CheckboxFieldProps, "children" | "className"> & Labelled) {
  return (
    <CheckboxField {...props} className={cx(styles.toggle, className)}>
      <CheckboxButton className={styles.checkbox}>
        <span className={styles.box}>
          <Check size={12} strokeWidth={3} aria-hidden />
        </span>
        {children}
      </CheckboxButton>
      {help !== undefined && (
        <Text slot="description" className={styles.help}>
          {help}
        </Text>
      )}
    </CheckboxField>
  );
}

export interface Option<Id extends string> {
  id: Id;
  label: ReactNode;
}

interface OneOf<Id extends string> {
  label: string;
  options: readonly Option<Id>[];
  value: Id;
  onChange: (id: Id) => void;
  className?: string;
  isDisabled?: boolean;
}

/** Single choice, all options visible. */
export function Segmented<Id extends string>(props: OneOf<Id>) {
  const isDense = props.options.length > 5;
  return <Toggles {...props} groupClass={cx(styles.segmented, isDense && styles.dense)} itemClass={styles.segment} />;
}

/** Single choice of a filter. */
export function Chips<Id extends string>(props: OneOf<Id>) {
  return <Toggles {...props} groupClass={styles.chips} itemClass={styles.chip} />;
}

function Toggles<Id extends string>({
  label,
  options,
  value,
  onChange,
  className,
  isDisabled,
  groupClass,
  itemClass,
}: OneOf<Id> & { groupClass?: string; itemClass?: string }) {
  return (
    <ToggleButtonGroup
      aria-label={label}
      selectionMode="single"
      disallowEmptySelection
      isDisabled={isDisabled}
      selectedKeys={[value]}
      onSelectionChange={(keys: Set<Key>) => {
        for (const key of keys) onChange(String(key) as Id);
      }}
      className={cx(groupClass, className)}
    >
      {options.map((option) => (
        <ToggleButton key={option.id} id={option.id} className={itemClass}>
          {option.label}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}

/** Multiple choice, such as days of the week. */
export function ChipSet<Id extends string>({
  label,
  options,
  value,
  onChange,
  className,
  isDisabled,
}: {
  label: string;
  options: readonly Option<Id>[];
  value: readonly Id[];
  onChange: (ids: Id[]) => void;
  className?: string;
  isDisabled?: boolean;
}) {
  return (
    <ToggleButtonGroup
      aria-label={label}
      selectionMode="multiple"
      isDisabled={isDisabled}
      selectedKeys={value}
      onSelectionChange={(keys: Set<Key>) => onChange(options.map((o) => o.id).filter((id) => keys.has(id)))}
      className={cx(styles.chips, className)}
    >
      {options.map((option) => (
        <ToggleButton key={option.id} id={option.id} className={styles.chip}>
          {option.label}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}
