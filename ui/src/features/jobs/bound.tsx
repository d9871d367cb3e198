/* The form's fields, tied to the shared components. A field that is changed is no longer complained about. */

import { createContext, use } from "react";
import { useController, type UseFormReturn } from "react-hook-form";

import { type Choice, NumberField, Select, TextArea, TextField } from "@/components/Field";

import { type JobForm, type Length, type Unit, unitMs } from "./form";
import styles from "./Editor.module.css";

/** The form around the fields. Unlike the library's own context it holds still, so that a keystroke in one field does not
    draw all the others again: the list of time zones alone takes longer than that may. */
export const FormContext = createContext<UseFormReturn<JobForm> | null>(null);

/** What will go wrong with the job as it stands in the form, by field. */
export const WarningContext = createContext<ReadonlyMap<keyof JobForm, string>>(new Map());

export function useJobForm(): UseFormReturn<JobForm> {
  const form = use(FormContext);
  if (!form) throw new Error("BUG: no job form around this field");
  return form;
}

export interface Bound<V> {
  value: V;
  onChange: (value: V) => void;
  onBlur: () => void;
  error?: string;
  warning?: string;
}

export function useBound<K extends keyof JobForm>(name: K): Bound<JobForm[K]> {
  const { control, clearErrors, setValue } = useJobForm();
  const { field, fieldState } = useController({ control, name });
  const warning = use(WarningContext).get(name);
  return {
    value: field.value,
    // The form's own `onChange` takes an object with a `target` for an event, which a tool's arguments may well be.
    onChange: (value) => {
      setValue(name, value as never);
      clearErrors(name);
    },
    onBlur: field.onBlur,
    error: fieldState.error?.message,
    warning,
  };
}

type NamesOf<V> = { [K in keyof JobForm]: JobForm[K] extends V ? (V extends JobForm[K] ? K : never) : never }[keyof JobForm];

type TextName = NamesOf<string>;
type NumberName = NamesOf<number | null>;
type LengthName = NamesOf<Length>;

interface Labels {
  label: string;
  help?: string;
  placeholder?: string;
}

export function TextOf({ name, ...props }: Labels & { name: TextName; mono?: boolean; autoFocus?: boolean }) {
  return <TextField {...props} {...useBound(name)} />;
}

export function LongTextOf({ name, ...props }: Labels & { name: TextName; rows?: number; mono?: boolean }) {
  return <TextArea {...props} {...useBound(name)} />;
}

/** A number that may be left out. */
export function NumberOf({ name, least = 0, most, digits = 3, ...props }: Labels & { name: NumberName; unit?: string; least?: number; most?: number; digits?: number }) {
  const { value, onChange, ...field } = useBound(name);
  return (
    <NumberField
      {...props}
      {...field}
      value={value ?? NaN}
      onChange={(next) => onChange(Number.isNaN(next) ? null : next)}
      minValue={least}
      maxValue={most}
      formatOptions={{ maximumFractionDigits: digits }}
    />
  );
}

export const units: readonly (Choice & { id: Unit })[] = [
  { id: "second", label: "seconds" },
  { id: "minute", label: "minutes" },
  { id: "hour", label: "hours" },
  { id: "day", label: "days", about: "24 hours each" },
];

interface LengthBounds {
  /** What counts when it is left out, where that is a length. */
  usual?: number;
  least?: number;
  most?: number;
}

/** A length of time that may be left out, in the unit that the person thinks in. The engine counts such lengths in whole
    seconds, so seconds have no fraction here; the bounds are in seconds, too. */
export function LengthOf({ name, usual, least = 0, most, placeholder, ...props }: Labels & LengthBounds & { name: LengthName }) {
  const { value: { amount, unit }, onChange, ...field } = useBound(name);
  const inUnit = (seconds: number) => (seconds * unitMs.second) / unitMs[unit];
  return (
    <NumberField
      {...props}
      {...field}
      value={amount ?? NaN}
      onChange={(next) => onChange({ amount: Number.isNaN(next) ? null : next, unit })}
      minValue={inUnit(least)}
      maxValue={most === undefined ? undefined : inUnit(most)}
      formatOptions={{ maximumFractionDigits: unit === "second" ? 0 : 3 }}
      placeholder={usual === undefined ? placeholder : String(Math.round(inUnit(usual) * 1_000) / 1_000)}
      unit={<Select label={`Unit of “${props.label}”`} labelHidden className={styles.unit} choices={units} value={unit} onChange={(id) => onChange({ amount, unit: id as Unit })} />}
    />
  );
}

type ChoiceName = { [K in keyof JobForm]: JobForm[K] extends string ? K : never }[keyof JobForm];

export function ChoiceOf<K extends ChoiceName>({ name, choices, ...props }: Labels & { name: K; choices: readonly (Choice & { id: JobForm[K] & string })[] }) {
  const { value, onChange, ...field } = useBound(name);
  return <Select {...props} {...field} choices={choices} value={value} onChange={(id) => onChange(id as JobForm[K])} />;
}
