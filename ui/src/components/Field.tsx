/* Fields of forms: label above, help or error below, in the same place so that nothing moves. All are controlled, so that
   react-hook-form's Controller drives them: `<TextField {...field} label=… error={fieldState.error?.message} />`. */

import { ChevronDown, Search, TriangleAlert, X } from "lucide-react";
import type { ReactNode, Ref } from "react";
import {
  Button, ComboBox as AriaComboBox, type ComboBoxProps, FieldError, Input, Label, ListBox, ListBoxItem, type Key,
  NumberField as AriaNumberField, type NumberFieldProps, Popover, SearchField as AriaSearchField, type SearchFieldProps,
  Select as AriaSelect, type SelectProps, SelectValue, Text, TextArea as AriaTextArea, TextField as AriaTextField,
  type TextFieldProps,
} from "react-aria-components";

import { cx } from "./cx";
import styles from "./Field.module.css";
import { Worded } from "./Worded";

export interface FieldProps {
  label: string;
  /** Keeps the label for screen readers only. */
  labelHidden?: boolean;
  help?: ReactNode;
  /** What is wrong, in words; makes the field invalid. */
  error?: string;
  /** What will go wrong as things stand, in words; the field stays valid. */
  warning?: string;
  className?: string;
}

type Controlled<P> = FieldProps & Omit<P, "children" | "className" | "isInvalid">;

function Head({ label, labelHidden }: Pick<FieldProps, "label" | "labelHidden">) {
  return <Label className={labelHidden ? "visually-hidden" : styles.label}>{label}</Label>;
}

/** What stands below a field: what is wrong, or else what will go wrong, or else help. */
export function Foot({ help, error, warning }: Pick<FieldProps, "help" | "error" | "warning">) {
  const about = warning === undefined ? help : <Warning>{warning}</Warning>;
  return (
    <>
      {about !== undefined && error === undefined && <Text slot="description" className={styles.help}>{about}</Text>}
      <FieldError className={styles.error}>{error !== undefined && <Worded text={error} />}</FieldError>
    </>
  );
}

/** The same below fields that are one group and have no such foot. */
export function GroupFoot({ error, warning }: Pick<FieldProps, "error" | "warning">) {
  if (error !== undefined) return <p className={styles.error} role="alert"><Worded text={error} /></p>;
  return warning === undefined ? null : <p className={styles.help}><Warning>{warning}</Warning></p>;
}

/** A warning as it stands below a field: by a glyph and in words, not by colour alone. */
export function Warning({ children }: { children: string }) {
  return (
    <span className={styles.warning}>
      <TriangleAlert size={13} aria-label="Warning" /> <Worded text={children} />
    </span>
  );
}

export function TextField({ label, labelHidden, help, error, warning, className, mono, placeholder, ...props }: Controlled<TextFieldProps> & { mono?: boolean; placeholder?: string }) {
  return (
    <AriaTextField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <Head label={label} labelHidden={labelHidden} />
      <Input className={cx(styles.input, mono && styles.mono)} placeholder={placeholder} />
      <Foot help={help} error={error} warning={warning} />
    </AriaTextField>
  );
}

export function TextArea({ label, labelHidden, help, error, warning, className, mono, placeholder, rows = 4, inputRef, ...props }: Controlled<TextFieldProps> & { mono?: boolean; placeholder?: string; rows?: number; inputRef?: Ref<HTMLTextAreaElement> }) {
  return (
    <AriaTextField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <Head label={label} labelHidden={labelHidden} />
      <AriaTextArea ref={inputRef} className={cx(styles.input, styles.area, mono && styles.mono)} placeholder={placeholder} rows={rows} />
      <Foot help={help} error={error} warning={warning} />
    </AriaTextField>
  );
}

export function NumberField({ label, labelHidden, help, error, warning, className, placeholder, unit, ...props }: Controlled<NumberFieldProps> & { placeholder?: string; unit?: ReactNode }) {
  return (
    <AriaNumberField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <Head label={label} labelHidden={labelHidden} />
      <span className={styles.withUnit}>
        <Input className={cx(styles.input, styles.number)} placeholder={placeholder} />
        {typeof unit === "string" ? <span className={styles.unit}>{unit}</span> : unit}
      </span>
      <Foot help={help} error={error} warning={warning} />
    </AriaNumberField>
  );
}

export interface Choice {
  id: string;
  label: string;
  /** A second, quiet line; what stands between backticks in it is code. */
  about?: string;
}

type ChoiceProps<P> = Controlled<Omit<P, "items" | "defaultItems" | "value" | "onChange" | "selectedKey" | "onSelectionChange">> & {
  choices: readonly Choice[];
  value: string | null;
  onChange: (id: string) => void;
};

export function Select({ label, labelHidden, help, error, warning, className, choices, value, onChange, placeholder, ...props }: ChoiceProps<SelectProps> & { placeholder?: string }) {
  return (
    <AriaSelect
      {...props}
      value={value}
      onChange={(key: Key | null) => {
        if (key !== null) onChange(String(key));
      }}
      isInvalid={error !== undefined}
      placeholder={placeholder}
      className={cx(styles.field, className)}
    >
      <Head label={label} labelHidden={labelHidden} />
      <Button className={cx(styles.input, styles.trigger)}>
        <SelectValue className={styles.selected}>{({ selectedText, defaultChildren }) => selectedText || defaultChildren}</SelectValue>
        <ChevronDown size={14} aria-hidden />
      </Button>
      <Foot help={help} error={error} warning={warning} />
      <Choices choices={choices} />
    </AriaSelect>
  );
}

/** A select that is typed into; for long lists such as time zones. */
export function ComboBox({ label, labelHidden, help, error, warning, className, choices, value, onChange, placeholder, ...props }: ChoiceProps<ComboBoxProps<Choice>> & { placeholder?: string }) {
  return (
    <AriaComboBox
      {...props}
      value={value}
      onChange={(key: Key | null) => {
        if (key !== null) onChange(String(key));
      }}
      defaultItems={choices}
      isInvalid={error !== undefined}
      className={cx(styles.field, className)}
      menuTrigger="focus"
    >
      <Head label={label} labelHidden={labelHidden} />
      <span className={styles.combo}>
        <Input className={styles.input} placeholder={placeholder} />
        <Button className={styles.comboButton}>
          <ChevronDown size={14} aria-hidden />
        </Button>
      </span>
      <Foot help={help} error={error} warning={warning} />
      <Popover className={styles.popover} offset={4}>
        <ListBox className={styles.choices}>{(choice: Choice) => <ChoiceItem choice={choice} />}</ListBox>
      </Popover>
    </AriaComboBox>
  );
}

function Choices({ choices }: { choices: readonly Choice[] }) {
  return (
    <Popover className={styles.popover} offset={4}>
      <ListBox className={styles.choices} items={choices}>
        {(choice) => <ChoiceItem choice={choice} />}
      </ListBox>
    </Popover>
  );
}

function ChoiceItem({ choice }: { choice: Choice }) {
  return (
    <ListBoxItem id={choice.id} textValue={choice.label} className={styles.choice}>
      <Text slot="label">{choice.label}</Text>
      {choice.about !== undefined && <Text slot="description" className={styles.help}><Worded text={choice.about} /></Text>}
    </ListBoxItem>
  );
}

/** A search box; Escape clears it. */
export function SearchField({ label, placeholder, className, ...props }: Omit<SearchFieldProps, "children" | "className"> & { label: string; placeholder?: string; className?: string }) {
  return (
    <AriaSearchField {...props} aria-label={label} className={cx(styles.search, className)}>
      <Search size={14} aria-hidden className={styles.searchIcon} />
      <Input className={cx(styles.input, styles.searchInput)} placeholder={placeholder} data-search-field />
      <Button className={styles.searchClear}>
        <X size={13} aria-hidden />
      </Button>
    </AriaSearchField>
  );
}
