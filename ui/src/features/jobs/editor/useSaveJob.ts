/* Saves the form. Checks only missing values; the engine validates the rest. Updates carry the revision, so that
   remote changes are not overwritten. */

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { UseFormReturn } from "react-hook-form";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useTools } from "@/data/queries";
import { argumentProblems } from "@/domain/arguments/schema";
import { isEqualJson } from "@/format/json";
import { errorCode, fieldErrors, type Job, type JobDraft, type JobView, RpcError } from "@/platform";

import { cronExpression } from "@/features/jobs/form/daysAndTimes";
import { parseFilters } from "@/features/jobs/form/eventForm";
import { type FieldProblem, place } from "@/features/jobs/form/fieldPaths";
import { newJobDraft, jobPatch } from "@/features/jobs/form/jobChanges";
import { type JobForm } from "@/features/jobs/form/jobForm";

/** Problem shown above the form. */
export type SaveProblem =
  { kind: "stale" } | { kind: "complaints"; complaints: FieldProblem[] } | { kind: "failed"; message: string };

interface SaveJobOptions {
  form: UseFormReturn<JobForm>;
  /** Form before changes. */
  before: JobForm;
  /** Stored job; undefined for a new job. */
  job?: Job;
  /** Starting point of a new job. */
  original?: JobDraft;
  /** Runs before creation; resolves to false to cancel. */
  beforeCreate?: (draft: JobDraft) => Promise<boolean>;
}

export function useSaveJob({ form, before, job, original, beforeCreate }: SaveJobOptions) {
  const platform = usePlatform();
  const client = useQueryClient();
  const { data: tools } = useTools();
  const [busy, setBusy] = useState(false);
  const [saveProblem, setSaveProblem] = useState<SaveProblem>();

  const createJob = async (draft: JobDraft): Promise<JobView | undefined> => {
    if (beforeCreate) {
      // Validates before `beforeCreate` has an effect.
      await platform.rpc("cron.check", { job: draft });
      if (!(await beforeCreate(draft))) return undefined;
    }
    return platform.rpc("cron.add", draft);
  };

  const send = (values: JobForm): Promise<JobView | undefined> => {
    if (!job) return createJob(newJobDraft(original, before, values));
    return platform.rpc("cron.update", {
      id: job.id,
      patch: jobPatch(before, values) ?? {},
      expectedRevision: job.state.revision,
    });
  };

  /** Saves and returns the job; undefined on failure. */
  const save = async (): Promise<JobView | undefined> => {
    const values = form.getValues();
    form.clearErrors();
    setSaveProblem(undefined);
    const isCallAsBefore =
      job !== undefined && values.tool === before.tool && isEqualJson(values.arguments, before.arguments);
    const missing = findMissing(
      values,
      isCallAsBefore ? undefined : tools?.find(({ name }) => name === values.tool)?.parameters,
    );
    if (missing.length > 0) {
      setErrors(form, missing);
      return undefined;
    }
    setBusy(true);
    try {
      const view = await send(values);
      if (!view) return undefined;
      client.setQueryData(keys.job(view.job.id), view);
      for (const queryKey of [keys.jobs, keys.status]) void client.invalidateQueries({ queryKey });
      return view;
    } catch (error) {
      setSaveProblem(saveProblemOf(form, error));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { save, busy, saveProblem, clearProblem: () => setSaveProblem(undefined) };
}

/** Missing values. */
export function findMissing(values: JobForm, schema?: Record<string, unknown>): [keyof JobForm, string][] {
  const missing: [keyof JobForm, string][] = [];
  const needs = (field: keyof JobForm, isMissing: boolean, message: string) => {
    if (isMissing) missing.push([field, message]);
  };
  needs("name", values.name.trim() === "", "Add a name.");
  needs("text", values.what === "systemEvent" && values.text.trim() === "", "Add a reminder.");
  needs("message", values.what === "agentTurn" && values.message.trim() === "", "Add a task.");
  needs("at", values.when === "at" && values.at === "", "Choose a date and time.");
  needs("every", values.when === "every" && values.every === null, "Set an interval.");
  needs("expr", values.when === "cron" && values.expr.trim() === "", "Enter a cron expression.");
  if (values.when === "days" && values.days) {
    const made = cronExpression(values.days);
    needs("days", "problem" in made, "problem" in made ? made.problem : "");
  }
  if (values.when === "event") {
    const read = parseFilters(values.filters);
    needs("filters", "problem" in read, "problem" in read ? read.problem : "");
  }
  if (values.what === "toolCall") {
    needs("tool", values.tool === "", "Choose a tool.");
    const problems = Object.entries(argumentProblems(schema, values.arguments));
    needs("condition", values.notifyWhen === "condition" && values.condition.trim() === "", "Enter a condition.");
    needs("arguments", problems.length > 0, problems.map(([name, problem]) => `${name}: ${problem}`).join(" "));
  }
  return missing;
}

function setErrors(form: UseFormReturn<JobForm>, complaints: Iterable<[keyof JobForm, string]>) {
  for (const [field, message] of complaints) form.setError(field, { message });
}

function saveProblemOf(form: UseFormReturn<JobForm>, error: unknown): SaveProblem | undefined {
  if (error instanceof RpcError && error.code === errorCode.stale) return { kind: "stale" };
  const { placed, others } = place(fieldErrors(error));
  setErrors(form, placed);
  if (others.length > 0) return { kind: "complaints", complaints: others };
  if (placed.size > 0) return undefined;
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}
