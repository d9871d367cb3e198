/* What the engine warns of about the job in the form, before it is saved and after: a model that is not there, a file that is
   missing. It keeps nobody from saving. What the form has no field for is said above it. */

import { useMemo } from "react";

import { useJobCheck, useStatus } from "@/data/queries";
import type { GrantOffers, Job, JobDraft } from "@/platform";

import { type Complaint, place } from "./fields";
import { addOf, type JobForm, withoutState } from "./form";
import { useSettled } from "./useSettled";

export interface Warnings {
  placed: ReadonlyMap<keyof JobForm, string>;
  others: readonly Complaint[];
  /** What the message names and the job does not grant yet. */
  offers: GrantOffers;
}

const noOffers: GrantOffers = { hosts: [], folders: [] };

interface Asked {
  values: JobForm;
  /** The form as it was before anything was changed. */
  before: JobForm;
  /** The job that is changed; a new one is made without it. */
  job?: Job;
  /** What a new one begins as, with all it holds. */
  original?: JobDraft;
}

/** Long enough to write a name in peace: a warning is nothing that hurries. */
const settleMs = 500;

/** `isOver` when its only time is behind it, which is said beside the form and is nothing to mend. */
export function useWarnings(draft: JobDraft, isOver: boolean): Warnings {
  const { data: status } = useStatus();
  const { data } = useJobCheck(useSettled(draft, settleMs));
  const hasNoModel = status?.model === null;
  return useMemo(() => {
    // That there is no model at all is said beside the form, with the way to get one.
    const isSaid = (field: string) => (hasNoModel && field === "payload.model") || (isOver && field === "schedule.atMs");
    const told = (data?.warnings ?? []).filter(({ field }) => !isSaid(field));
    const { placed, others } = place(told.map(({ field, message }) => ({ path: field, message })));
    return { placed, others, offers: data?.offers ?? noOffers };
  }, [data, hasNoModel, isOver]);
}

/** The job as saving would leave it. */
export function savedAs({ values, before, job, original }: Asked): JobDraft {
  return addOf(job ? withoutState(job) : original, before, values);
}
