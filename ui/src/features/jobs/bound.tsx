/* The form's fields, tied to the shared components. A field that is changed is no longer complained about. */

import { createContext, use } from "react";
import { useController, type UseFormReturn } from "react-hook-form";

import { type Choice, NumberField, Select, TextArea, TextField } from "@/components/Field";

import type { JobForm } from "./form";

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

type ChoiceName = { [K in keyof JobForm]: JobForm[K] extends string ? K : never }[keyof JobForm];

export function ChoiceOf<K extends ChoiceName>({ name, choices, ...props }: Labels & { name: K; choices: readonly (Choice & { id: JobForm[K] & string })[] }) {
  const { value, onChange, ...field } = useBound(name);
  return <Select {...props} {...field} choices={choices} value={value} onChange={(id) => onChange(id as JobForm[K])} />;
}
