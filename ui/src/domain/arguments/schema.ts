/* Maps a JSON Schema to form fields. Complex parts become JSON fields. */

import { isJsonObject } from "@/format/json";

export type ArgumentKind = "text" | "longText" | "number" | "integer" | "boolean" | "choice" | "json";

export interface ArgumentProperty {
  name: string;
  kind: ArgumentKind;
  required: boolean;
  about?: string;
  choices: string[];
  least?: number;
  most?: number;
  /** Requires JSON; otherwise plain text is accepted. */
  strict: boolean;
}

const longTextFrom = 5_000;

export function argumentProperties(schema: Record<string, unknown> | undefined): ArgumentProperty[] {
  if (!schema || !isJsonObject(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const all = Object.entries(schema.properties).map(([name, part]) =>
    propertyOf(name, isJsonObject(part) ? part : {}, required.includes(name)),
  );
  return [...all.filter((p) => p.required), ...all.filter((p) => !p.required)];
}

function propertyOf(name: string, part: Record<string, unknown>, required: boolean): ArgumentProperty {
  const choices = Array.isArray(part.enum) && part.enum.every((value) => typeof value === "string") ? part.enum : [];
  return {
    name,
    required,
    choices,
    kind: choices.length > 0 ? "choice" : kindOf(part),
    about: typeof part.description === "string" ? part.description : undefined,
    least: typeof part.minimum === "number" ? part.minimum : undefined,
    most: typeof part.maximum === "number" ? part.maximum : undefined,
    strict: part.type === "object" || part.type === "array",
  };
}

function kindOf(part: Record<string, unknown>): ArgumentKind {
  switch (part.type) {
    case "string":
      return typeof part.maxLength === "number" && part.maxLength >= longTextFrom ? "longText" : "text";
    case "number":
    case "integer":
    case "boolean":
      return part.type;
    default:
      return "json";
  }
}

/** Missing or invalid values by property. The engine validates the rest. */
export function argumentProblems(
  schema: Record<string, unknown> | undefined,
  values: Record<string, unknown>,
): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const property of argumentProperties(schema)) {
    const value = values[property.name];
    if (property.required && (value === undefined || value === "")) problems[property.name] = "This is required.";
    else if (property.strict && typeof value === "string") problems[property.name] = "This is not valid JSON.";
  }
  return problems;
}

/** Parsed JSON, or the text itself. */
export function readJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Sets or removes a value: an empty argument differs from an absent one. */
export function withArgument(values: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (value !== undefined && value !== "") return { ...values, [name]: value };
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== name));
}
