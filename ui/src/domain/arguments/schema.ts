/* A tool's JSON Schema as fields. Only the plain parts become fields of their own; everything else is written as JSON, so
   that no schema is too strange to fill in. */

import { isPlain } from "@/format/json";

export type Kind = "text" | "longText" | "number" | "integer" | "boolean" | "choice" | "json";

export interface Property {
  name: string;
  kind: Kind;
  required: boolean;
  about?: string;
  choices: string[];
  least?: number;
  most?: number;
  /** Whether JSON is wanted as such; otherwise a plain text will do as well. */
  strict: boolean;
}

const longFrom = 5_000;

export function propertiesOf(schema: Record<string, unknown> | undefined): Property[] {
  if (!schema || !isPlain(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const all = Object.entries(schema.properties).map(([name, part]) => propertyOf(name, isPlain(part) ? part : {}, required.includes(name)));
  return [...all.filter((p) => p.required), ...all.filter((p) => !p.required)];
}

function propertyOf(name: string, part: Record<string, unknown>, required: boolean): Property {
  const choices = Array.isArray(part.enum) && part.enum.every((value) => typeof value === "string") ? part.enum : [];
  return {
    name, required, choices,
    kind: choices.length > 0 ? "choice" : kindOf(part),
    about: typeof part.description === "string" ? part.description : undefined,
    least: typeof part.minimum === "number" ? part.minimum : undefined,
    most: typeof part.maximum === "number" ? part.maximum : undefined,
    strict: part.type === "object" || part.type === "array",
  };
}

function kindOf(part: Record<string, unknown>): Kind {
  switch (part.type) {
    case "string":
      return typeof part.maxLength === "number" && part.maxLength >= longFrom ? "longText" : "text";
    case "number":
    case "integer":
    case "boolean":
      return part.type;
    default:
      return "json";
  }
}

/** What is missing or not readable yet, by property. The engine checks the rest when the tool is called. */
export function argumentProblems(schema: Record<string, unknown> | undefined, values: Record<string, unknown>): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const property of propertiesOf(schema)) {
    const value = values[property.name];
    if (property.required && (value === undefined || value === "")) problems[property.name] = "This is required.";
    else if (property.strict && typeof value === "string") problems[property.name] = "This is not valid JSON yet.";
  }
  return problems;
}

/** What was typed where JSON is expected: the value, or the text itself. */
export function readJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Without what was emptied: an absent argument and an empty one are not the same to a tool. */
export function withArgument(values: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (value !== undefined && value !== "") return { ...values, [name]: value };
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== name));
}
