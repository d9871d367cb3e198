/* What the engine says about the schedule in the form, a moment after it was last changed. */

import { usePreview } from "@/data/queries";
import { same } from "@/format/json";
import { fieldErrors, type Job, type JobDraft, type WrittenSchedule } from "@/platform";

import { cronOf } from "./cron";
import { place, sentence } from "./fields";
import { type JobForm, scheduleOf, schedulePatch } from "./form";
import { laidOver } from "./patch";
import { useSettled } from "./useSettled";
import type { Said } from "./WhenSection";

const nothing: Said = new Map();

/** The schedule as saving would leave it: what the page does not show, such as the instant an interval hangs on, stays. */
function asSaved(values: JobForm, before: JobForm, original: WrittenSchedule | undefined): WrittenSchedule | undefined {
  const schedule = scheduleOf(values);
  if (!schedule || !original) return schedule;
  return laidOver({ ...original }, schedulePatch(scheduleOf(before), schedule) ?? {}) as WrittenSchedule;
}

/** Complaints are put beside the fields only once the schedule was touched: one that has passed is no mistake. */
export function useSchedulePreview(values: JobForm, before: JobForm, job: Job | undefined, original: JobDraft | undefined) {
  const schedule = asSaved(values, before, (job ?? original)?.schedule);
  const settled = useSettled(schedule);
  const preview = usePreview(settled, job?.id);
  const touched = !same(scheduleOf(values), scheduleOf(before));
  const isWhole = schedule !== undefined;
  return {
    touched,
    shown: isWhole && !preview.error ? preview.data : undefined,
    said: touched && isWhole && preview.error && same(schedule, settled) ? place(fieldErrors(preview.error)).placed : nothing,
    problem: !isWhole ? unfinished(values) : preview.error ? problemOf(preview.error) : undefined,
  };
}

function unfinished({ when, days }: JobForm): string {
  const made = when === "days" && days ? cronOf(days) : undefined;
  return made && "problem" in made ? made.problem : "Not whole yet.";
}

function problemOf(error: Error): string {
  const [first] = fieldErrors(error);
  return first ? sentence(first.message) : error.message;
}
