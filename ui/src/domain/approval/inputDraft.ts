/* Values of an input request while the person fills in the form. */

import type { InputField, InputPrompt } from "@/platform";

/** Values by field name; undefined for an empty field. */
export type InputDraft = Record<string, string | number | boolean | string[] | undefined>;

export function fieldsOf({ body }: InputPrompt): InputField[] {
  return body.kind === "form" ? body.fields : [];
}

/** The proposed values. A choice between yes and no has no empty state, so a required one begins with no. */
export function initialDraft(prompt: InputPrompt): InputDraft {
  return Object.fromEntries(fieldsOf(prompt).map((field) => [field.name, initialValue(field)]));
}

function initialValue({ value, isRequired }: InputField): InputDraft[string] {
  if (value.kind === "boolean") return value.default ?? (isRequired ? false : undefined);
  return value.default ?? undefined;
}

/** The values of the filled fields. An empty text of an optional field is no value. */
export function answersOf(prompt: InputPrompt, draft: InputDraft): Record<string, unknown> {
  const filled = fieldsOf(prompt).filter(({ name, isRequired, value }) => {
    const given = draft[name];
    if (given === undefined || Number.isNaN(given)) return false;
    if (value.kind === "choices") return isRequired || (given as string[]).length > 0;
    return isRequired || given !== "";
  });
  return Object.fromEntries(filled.map(({ name }) => [name, draft[name]]));
}
