/* Form fields with label, help and error. All are controlled, for use with react-hook-form. */

import { ChevronDown, Search, TriangleAlert, X } from "lucide-react";
import type { ReactNode, Ref } from "react";
import {
  Button,
  ComboBox as AriaComboBox,
  type ComboBoxProps,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  type Key,
  NumberField as AriaNumberField,
  type NumberFieldProps,
  Popover,
  SearchField as AriaSearchField,
  type SearchFieldProps,
  Select as AriaSelect,
  type SelectProps,
  SelectValue,
  Text,
  TextArea as AriaTextArea,
  TextField as AriaTextField,
  type TextFieldProps,
} from "react-aria-components";

import { cx } from "./cx";
import styles from "./Field.module.css";
import { InlineCode } from "./InlineCode";

export interface FieldProps {
  label: string;
  /** Hides the label visually. */
  labelHidden?: boolean;
  help?: ReactNode;
  /** Error message; marks the field invalid. */
  error?: string;
  /** Warning message; the field stays valid. */
  warning?: string;
  className?: string;
}

type Controlled<P> = FieldProps & Omit<P, "children" | "className" | "isInvalid">;

function FieldLabel({ label, labelHidden }: Pick<FieldProps, "label" | "labelHidden">) {
  return <Label className={labelHidden ? "visually-hidden" : styles.label}>{label}</Label>;
}

/** Error, warning or help below a field, in this order. */
export function FieldFoot({ help, error, warning }: Pick<FieldProps, "help" | "error" | "warning">) {
  const about = warning === undefined ? help : <Warning>{warning}</Warning>;
  return (
    <>
      {about !== undefined && error === undefined && (
        <Text slot="description" className={styles.help}>
          {about}
        </Text>
      )}
      <FieldError className={styles.error}>{error !== undefined && <InlineCode text={error} />}</FieldError>
    </>
  );
}

/** Error or warning below a group of fields. */
export function GroupFoot({ error, warning }: Pick<FieldProps, "error" | "warning">) {
  if (error !== undefined)
    return (
      <p className={styles.error} role="alert">
        <InlineCode text={error} />
      </p>
    );
  return warning === undefined ? null : (
    <p className={styles.help}>
      <Warning>{warning}</Warning>
    </p>
  );
}

/** Warning with an icon, so that color is not the only cue. */
export function Warning({ children }: { children: string }) {
  return (
    <span className={styles.warning}>
      <TriangleAlert size={13} aria-label="Warning" /> <InlineCode text={children} />
    </span>
  );
}

export function TextField({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  mono,
  placeholder,
  ...props
}: Controlled<TextFieldProps> & { mono?: boolean; placeholder?: string }) {
  return (
    <AriaTextField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <FieldLabel label={label} labelHidden={labelHidden} />
      <Input className={cx(styles.input, mono && styles.mono)} placeholder={placeholder} />
      <FieldFoot help={help} error={error} warning={warning} />
    </AriaTextField>
  );
}

export function TextArea({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  mono,
  placeholder,
  rows = 4,
  inputRef,
  ...props
}: Controlled<TextFieldProps> & {
  mono?: boolean;
  placeholder?: string;
  rows?: number;
  inputRef?: Ref<HTMLTextAreaElement>;
}) {
  return (
    <AriaTextField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <FieldLabel label={label} labelHidden={labelHidden} />
      <AriaTextArea
        ref={inputRef}
        className={cx(styles.input, styles.area, mono && styles.mono)}
        placeholder={placeholder}
        rows={rows}
      />
      <FieldFoot help={help} error={error} warning={warning} />
    </AriaTextField>
  );
}

export function NumberField({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  placeholder,
  unit,
  ...props
}: Controlled<NumberFieldProps> & { placeholder?: string; unit?: ReactNode }) {
  return (
    <AriaNumberField {...props} isInvalid={error !== undefined} className={cx(styles.field, className)}>
      <FieldLabel label={label} labelHidden={labelHidden} />
      <span className={styles.withUnit}>
        <Input className={cx(styles.input, styles.number)} placeholder={placeholder} />
        {typeof unit === "string" ? <span className={styles.unit}>{unit}</span> : unit}
      </span>
      <FieldFoot help={help} error={error} warning={warning} />
    </AriaNumberField>
  );
}

export interface Choice {
  id: string;
  label: string;
  /** Secondary line; text between backticks is code. */
  about?: string;
}

type ChoiceProps<P> = Controlled<
  Omit<P, "items" | "defaultItems" | "value" | "onChange" | "selectedKey" | "onSelectionChange">
> & {
  choices: readonly Choice[];
  value: string | null;
  onChange: (id: string) => void;
};

export function Select({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  choices,
  value,
  onChange,
  placeholder,
  ...props
}: ChoiceProps<SelectProps> & { placeholder?: string }) {
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
      <FieldLabel label={label} labelHidden={labelHidden} />
      <Button className={cx(styles.input, styles.trigger)}>
        <SelectValue className={styles.selected}>
          {({ selectedText, defaultChildren }) => selectedText || defaultChildren}
        </SelectValue>
        <ChevronDown size={14} aria-hidden />
      </Button>
      <FieldFoot help={help} error={error} warning={warning} />
      <Choices choices={choices} />
    </AriaSelect>
  );
}

/** Searchable select for long lists such as time zones. */
export function ComboBox({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  choices,
  value,
  onChange,
  placeholder,
  ...props
}: ChoiceProps<ComboBoxProps<Choice>> & { placeholder?: string }) {
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
      <FieldLabel label={label} labelHidden={labelHidden} />
      <span className={styles.combo}>
        <Input className={styles.input} placeholder={placeholder} />
        <Button className={styles.comboButton}>
          <ChevronDown size={14} aria-hidden />
        </Button>
      </span>
      <FieldFoot help={help} error={error} warning={warning} />
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
      {choice.about !== undefined && (
        <Text slot="description" className={styles.help}>
          <InlineCode text={choice.about} />
        </Text>
      )}
    </ListBoxItem>
  );
}

/** Search field; cleared by Escape. */
export function SearchField({
  label,
  placeholder,
  className,
  ...props
}: Omit<SearchFieldProps, "children" | "className"> & { label: string; placeholder?: string; className?: string }) {
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
