/* Warnings of the engine for the draft. Warnings do not prevent saving. */

import { useMemo } from "react";

import { useJobCheck, useStatus } from "@/data/queries";
import type { GrantOffers, Job, JobDraft } from "@/platform";

import { type FieldProblem, place } from "@/features/jobs/form/fieldPaths";
import { newJobDraft, withoutState } from "@/features/jobs/form/jobChanges";
import { type JobForm } from "@/features/jobs/form/jobForm";
import { useDebounced } from "./useDebounced";

export interface JobWarnings {
  placed: ReadonlyMap<keyof JobForm, string>;
  others: readonly FieldProblem[];
  /** Hosts and folders that the message mentions and the job lacks. */
  offers: GrantOffers;
}

const noOffers: GrantOffers = { hosts: [], folders: [] };

interface CheckedDraft {
  values: JobForm;
  /** Form before changes. */
  before: JobForm;
  /** Stored job; undefined for a new job. */
  job?: Job;
  /** Starting point of a new job. */
  original?: JobDraft;
}

const debounceMs = 500;

/** Omits warnings that the preview already shows. */
export function useJobWarnings(draft: JobDraft, isOver: boolean): JobWarnings {
  const { data: status } = useStatus();
  const { data } = useJobCheck(useDebounced(draft, debounceMs));
  const hasNoModel = status?.model === null;
  return useMemo(() => {
    // The preview shows the missing model.
    const isShownElsewhere = (field: string) =>
      (hasNoModel && field === "payload.model") || (isOver && field === "schedule.atMs");
    const warnings = (data?.warnings ?? []).filter(({ field }) => !isShownElsewhere(field));
    const { placed, others } = place(warnings.map(({ field, message }) => ({ path: field, message })));
    return { placed, others, offers: data?.offers ?? noOffers };
  }, [data, hasNoModel, isOver]);
}

/** Draft to save. */
export function draftAsSaved({ values, before, job, original }: CheckedDraft): JobDraft {
  return newJobDraft(job ? withoutState(job) : original, before, values);
}
