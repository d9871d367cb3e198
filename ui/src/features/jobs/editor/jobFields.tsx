/* Form fields bound to the job form. A change clears the error. */

import { createContext, use } from "react";
import { useController, type UseFormReturn } from "react-hook-form";

import { type Choice, NumberField, Select, TextArea, TextField } from "@/components/Field";

import { type DurationInput, type DurationUnit, unitMs } from "@/features/jobs/form/fieldCodecs";
import type { JobForm } from "@/features/jobs/form/jobForm";
import styles from "./JobEditor.module.css";

/** Form of the surrounding editor. Stable, unlike the library's context: a keystroke re-renders a single field. */
export const JobFormContext = createContext<UseFormReturn<JobForm> | null>(null);

/** Warnings by field. */
export const JobWarningContext = createContext<ReadonlyMap<keyof JobForm, string>>(new Map());

export function useJobForm(): UseFormReturn<JobForm> {
  const form = use(JobFormContext);
  if (!form) throw new Error("BUG: no job form around this field");
  return form;
}

export interface JobField<V> {
  value: V;
  onChange: (value: V) => void;
  onBlur: () => void;
  error?: string;
  warning?: string;
}

export function useJobField<K extends keyof JobForm>(name: K): JobField<JobForm[K]> {
  const { control, clearErrors, setValue } = useJobForm();
  const { field, fieldState } = useController({ control, name });
  const warning = use(JobWarningContext).get(name);
  return {
    value: field.value,
    // The library's `onChange` mistakes an object with `target`, such as tool arguments, for an event.
    onChange: (value) => {
      setValue(name, value as never);
      clearErrors(name);
    },
    onBlur: field.onBlur,
    error: fieldState.error?.message,
    warning,
  };
}

type NamesOf<V> = {
  [K in keyof JobForm]: JobForm[K] extends V ? (V extends JobForm[K] ? K : never) : never;
}[keyof JobForm];

type TextName = NamesOf<string>;
type NumberName = NamesOf<number | null>;
type DurationName = NamesOf<DurationInput>;

interface Labels {
  label: string;
  help?: string;
  placeholder?: string;
}

export function JobTextField({ name, ...props }: Labels & { name: TextName; mono?: boolean; autoFocus?: boolean }) {
  return <TextField {...props} {...useJobField(name)} />;
}

export function JobTextArea({ name, ...props }: Labels & { name: TextName; rows?: number; mono?: boolean }) {
  return <TextArea {...props} {...useJobField(name)} />;
}

/** Optional number. */
export function JobNumberField({
  name,
  least = 0,
  most,
  digits = 3,
  ...props
}: Labels & { name: NumberName; unit?: string; least?: number; most?: number; digits?: number }) {
  const { value, onChange, ...field } = useJobField(name);
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

export const durationUnits: readonly (Choice & { id: DurationUnit })[] = [
  { id: "second", label: "seconds" },
  { id: "minute", label: "minutes" },
  { id: "hour", label: "hours" },
  { id: "day", label: "days", about: "24 hours each" },
];

interface DurationBounds {
  /** Default in seconds. */
  defaultSeconds?: number;
  least?: number;
  most?: number;
}

/** Optional duration with unit. Bounds are in seconds; the engine counts whole seconds. */
export function JobDurationField({
  name,
  defaultSeconds,
  least = 0,
  most,
  placeholder,
  ...props
}: Labels & DurationBounds & { name: DurationName }) {
  const {
    value: { amount, unit },
    onChange,
    ...field
  } = useJobField(name);
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
      placeholder={
        defaultSeconds === undefined ? placeholder : String(Math.round(inUnit(defaultSeconds) * 1_000) / 1_000)
      }
      unit={
        <Select
          label={`Unit of “${props.label}”`}
          labelHidden
          className={styles.unit}
          choices={durationUnits}
          value={unit}
          onChange={(id) => onChange({ amount, unit: id as DurationUnit })}
        />
      }
    />
  );
}

type ChoiceName = { [K in keyof JobForm]: JobForm[K] extends string ? K : never }[keyof JobForm];

export function JobSelect<K extends ChoiceName>({
  name,
  choices,
  ...props
}: Labels & { name: K; choices: readonly (Choice & { id: JobForm[K] & string })[] }) {
  const { value, onChange, ...field } = useJobField(name);
  return <Select {...props} {...field} choices={choices} value={value} onChange={(id) => onChange(id as JobForm[K])} />;
}
