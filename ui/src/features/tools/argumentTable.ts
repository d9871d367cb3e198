/* Arguments of a tool as a table. */

export interface ArgumentRow {
  name: string;
  required: boolean;
  takes: string;
  about: string;
}

type Part = Record<string, unknown>;

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Required arguments first. */
export function argumentRows(schema: Part): ArgumentRow[] {
  const { properties, required } = schema;
  if (!isPart(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  const all = Object.entries(properties).map(([name, part]) =>
    argumentOf(name, isPart(part) ? part : {}, needed.includes(name)),
  );
  return [...all.filter((one) => one.required), ...all.filter((one) => !one.required)];
}

function argumentOf(name: string, part: Part, required: boolean): ArgumentRow {
  return {
    name,
    required,
    takes: typeLabel(part),
    about: typeof part.description === "string" ? part.description : "",
  };
}

const kinds: Record<string, string> = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "yes or no",
  object: "object",
  array: "list",
  null: "nothing",
};

function typeLabel({ type, enum: choices }: Part): string {
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" or ");
  const types = (Array.isArray(type) ? type : [type]).filter((one): one is string => typeof one === "string");
  return types.length === 0 ? "anything" : types.map((one) => kinds[one] ?? one).join(" or ");
}
