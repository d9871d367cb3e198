/* The arguments of a tool, read out of its JSON Schema for people. What a schema says beyond that stands in the schema itself,
   which is one press away. */

export interface Argument {
  name: string;
  required: boolean;
  takes: string;
  about: string;
}

type Part = Record<string, unknown>;

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Required ones first, otherwise in the order of the schema. */
export function argumentsOf(schema: Part): Argument[] {
  const { properties, required } = schema;
  if (!isPart(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  const all = Object.entries(properties).map(([name, part]) => argumentOf(name, isPart(part) ? part : {}, needed.includes(name)));
  return [...all.filter((one) => one.required), ...all.filter((one) => !one.required)];
}

function argumentOf(name: string, part: Part, required: boolean): Argument {
  return { name, required, takes: takesOf(part), about: typeof part.description === "string" ? part.description : "" };
}

const kinds: Record<string, string> = { string: "a text", integer: "a whole number", number: "a number", boolean: "yes or no", object: "an object", array: "a list", null: "nothing" };

function takesOf({ type, enum: choices }: Part): string {
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" or ");
  const types = (Array.isArray(type) ? type : [type]).filter((one): one is string => typeof one === "string");
  return types.length === 0 ? "anything" : types.map((one) => kinds[one] ?? one).join(" or ");
}
