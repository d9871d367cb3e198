/* Adds offered hosts and folders to the form. */

import type { UseFormReturn } from "react-hook-form";

import type { GrantOffers } from "@/platform";

import type { JobForm } from "@/features/jobs/form/jobForm";

export function addGrantOffers(
  { getValues, setValue }: Pick<UseFormReturn<JobForm>, "getValues" | "setValue">,
  offers: GrantOffers,
) {
  const add = (name: "hosts" | "folders") => {
    const before = getValues(name).trim();
    if (offers[name].length > 0)
      setValue(name, [before, ...offers[name]].filter((line) => line !== "").join("\n"), { shouldDirty: true });
  };
  add("hosts");
  add("folders");
}
