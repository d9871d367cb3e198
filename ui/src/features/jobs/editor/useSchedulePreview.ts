/* Debounced preview of the form: schedule and delivery. */

import { toSentence } from "@/format/text";
import { usePreview } from "@/data/queries";
import { isEqualJson } from "@/format/json";
import { type DeliveryDraft, fieldErrors, type Job, type JobDraft, type WrittenSchedule } from "@/platform";

import { cronExpression } from "@/features/jobs/form/daysAndTimes";
import { place } from "@/features/jobs/form/fieldPaths";
import { schedulePatch } from "@/features/jobs/form/jobChanges";
import { type JobForm, scheduleFrom } from "@/features/jobs/form/jobForm";
import { applyMergePatch } from "@/features/jobs/form/mergePatch";
import { useDebounced } from "./useDebounced";
import type { ScheduleErrors } from "@/features/jobs/form/fieldPaths";

const noErrors: ScheduleErrors = new Map();

/** Schedule to save, with hidden fields such as an anchor. */
function scheduleAsSaved(
  values: JobForm,
  before: JobForm,
  original: WrittenSchedule | undefined,
): WrittenSchedule | undefined {
  const schedule = scheduleFrom(values);
  if (!schedule || !original) return schedule;
  return applyMergePatch({ ...original }, schedulePatch(scheduleFrom(before), schedule) ?? {}) as WrittenSchedule;
}

/** Settings that determine the channels and recipients. */
function deliveryOf({ payload, policies }: JobDraft): DeliveryDraft {
  const deliverTo = policies?.deliverTo;
  if (payload.kind !== "agentTurn") return { deliverTo };
  const { channel, to, deliver } = payload;
  return { deliverTo, channel, to, deliver };
}

/** Shows errors only after the schedule was changed, because a past time is no error. */
export function useSchedulePreview(
  values: JobForm,
  before: JobForm,
  job: Job | undefined,
  original: JobDraft | undefined,
  draft: JobDraft,
) {
  const schedule = scheduleAsSaved(values, before, (job ?? original)?.schedule);
  const settled = useDebounced({ schedule, delivery: deliveryOf(draft) });
  const preview = usePreview({ ...settled, id: job?.id });
  const touched = !isEqualJson(scheduleFrom(values), scheduleFrom(before));
  const isWhole = schedule !== undefined;
  return {
    touched,
    shown: isWhole && !preview.error ? preview.data : undefined,
    errors:
      touched && isWhole && preview.error && isEqualJson(schedule, settled.schedule)
        ? place(fieldErrors(preview.error)).placed
        : noErrors,
    problem: !isWhole ? incompleteReason(values) : preview.error ? problemOf(preview.error) : undefined,
  };
}

function incompleteReason({ when, days }: JobForm): string {
  const made = when === "days" && days ? cronExpression(days) : undefined;
  return made && "problem" in made ? made.problem : "Incomplete schedule.";
}

function problemOf(error: Error): string {
  const [first] = fieldErrors(error);
  return first ? toSentence(first.message) : error.message;
}
