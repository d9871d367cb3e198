/* Codecs of single job fields: stored value to form value and back. Undefined is not stored. */

export interface Codec<Stored, Value> {
  read: (stored: Stored | undefined) => Value;
  write: (value: Value) => Stored | undefined;
}

export type DurationUnit = "second" | "minute" | "hour" | "day";
/** Duration input; null is empty. */
export interface DurationInput {
  amount: number | null;
  unit: DurationUnit;
}

export const unitMs: Record<DurationUnit, number> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** Largest unit with a whole amount. */
export function durationInput(ms: number): DurationInput {
  const unit = (["day", "hour", "minute"] as const).find((candidate) => ms % unitMs[candidate] === 0) ?? "second";
  return { amount: ms / unitMs[unit], unit };
}

/** Whole seconds. */
export function durationSeconds({ amount, unit }: DurationInput): number | null {
  return amount === null ? null : Math.round((amount * unitMs[unit]) / unitMs.second);
}

export function scaleNumber(value: number | null | undefined, by: number): number | null {
  return value === null || value === undefined ? null : Math.round((value / by) * 1_000) / 1_000;
}

/** Trimmed text. */
export const text: Codec<string, string> = {
  read: (stored) => stored ?? "",
  write: (value) => nonEmpty(value.trim()),
};

export const number: Codec<number, number | null> = {
  read: (stored) => stored ?? null,
  write: (value) => value ?? undefined,
};

/** Stored milliseconds, shown in seconds. */
export const secondsOfMs: Codec<number, number | null> = {
  read: (stored) => scaleNumber(stored, 1_000),
  write: (value) => scaleNumber(value, 1 / 1_000) ?? undefined,
};

/** Stored seconds; 0 and none are shown in minutes. */
export const duration: Codec<number, DurationInput> = {
  read: (stored) => (stored ? durationInput(stored * unitMs.second) : { amount: stored ?? null, unit: "minute" }),
  write: (value) => durationSeconds(value) ?? undefined,
};

/** The default is not stored. */
export function withDefault<Value extends string | boolean>(defaultValue: Value): Codec<Value, Value> {
  return {
    read: (stored) => stored ?? defaultValue,
    write: (value) => (value === defaultValue ? undefined : value),
  };
}

/** Empty without a choice. */
export function optionalChoice<Choice extends string>(): Codec<Choice, Choice | ""> {
  return { read: (stored) => stored ?? "", write: (value) => nonEmpty(value) };
}

export const names: Codec<string[], string[]> = {
  read: (stored) => stored ?? [],
  write: nonEmpty,
};

/** Items separated by white space or commas; shown with `separator`. */
export function wordList(separator: string): Codec<string[], string> {
  return {
    read: (stored) => (stored ?? []).join(separator),
    write: (value) => nonEmpty(value.split(/[\s,]+/).filter((word) => word !== "")),
  };
}

/** One item per line. */
export const lineList: Codec<string[], string> = {
  read: (stored) => (stored ?? []).join("\n"),
  write: (value) =>
    nonEmpty(
      value
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    ),
};

function nonEmpty<Value extends string | unknown[]>(value: Value): Exclude<Value, ""> | undefined {
  return value.length === 0 ? undefined : (value as Exclude<Value, "">);
}
