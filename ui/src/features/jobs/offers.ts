/* Grants what a message names, in the form: nothing counts before the job is saved. */

import type { UseFormReturn } from "react-hook-form";

import type { GrantOffers } from "@/platform";

import type { JobForm } from "./form";

export function allow({ getValues, setValue }: Pick<UseFormReturn<JobForm>, "getValues" | "setValue">, offers: GrantOffers) {
  const add = (name: "hosts" | "folders") => {
    const before = getValues(name).trim();
    if (offers[name].length > 0) setValue(name, [before, ...offers[name]].filter((line) => line !== "").join("\n"), { shouldDirty: true });
  };
  add("hosts");
  add("folders");
}
