/* Saving the form: what the page can see is missing is said at once, everything else is the engine's judgement. An update
   names the revision it was made from, so that it never silently undoes what happened elsewhere. */

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { UseFormReturn } from "react-hook-form";

import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useTools } from "@/data/queries";
import { argumentProblems } from "@/domain/arguments/schema";
import { same } from "@/format/json";
import { errorCode, fieldErrors, type Job, type JobDraft, type JobView, RpcError } from "@/platform";

import { cronOf } from "./cron";
import { filtersOf } from "./events";
import { type Complaint, place } from "./fields";
import { addOf, type JobForm, patchOf } from "./form";

/** What stands above the form after an attempt to save. */
export type Trouble = { kind: "stale" } | { kind: "complaints"; complaints: Complaint[] } | { kind: "failed"; message: string };

interface Asked {
  form: UseFormReturn<JobForm>;
  /** The form as it was before anything was changed. */
  before: JobForm;
  /** The job that is changed; a new one is made without it. */
  job?: Job;
  /** What a new one begins as, with all it holds. */
  original?: JobDraft;
  /** What comes before a new one is made; false when it is not to be. */
  beforeMade?: (draft: JobDraft) => Promise<boolean>;
}

export function useSave({ form, before, job, original, beforeMade }: Asked) {
  const platform = usePlatform();
  const client = useQueryClient();
  const { data: tools } = useTools();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble>();

  const make = async (draft: JobDraft): Promise<JobView | undefined> => {
    if (beforeMade) {
      // What the engine refuses is refused before anything else is done.
      await platform.rpc("cron.check", { job: draft });
      if (!(await beforeMade(draft))) return undefined;
    }
    return platform.rpc("cron.add", draft);
  };

  const send = (values: JobForm): Promise<JobView | undefined> => {
    if (!job) return make(addOf(original, before, values));
    return platform.rpc("cron.update", { id: job.id, patch: patchOf(before, values) ?? {}, expectedRevision: job.state.revision });
  };

  /** The saved job; undefined when it was not saved, which is then said in the form. */
  const save = async (): Promise<JobView | undefined> => {
    const values = form.getValues();
    form.clearErrors();
    setTrouble(undefined);
    const isCallAsBefore = job !== undefined && values.tool === before.tool && same(values.arguments, before.arguments);
    const missing = missingIn(values, isCallAsBefore ? undefined : tools?.find(({ name }) => name === values.tool)?.parameters);
    if (missing.length > 0) {
      complain(form, missing);
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
      setTrouble(troubleOf(form, error));
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { save, busy, trouble, calm: () => setTrouble(undefined) };
}

/** What need not be asked of the engine, because it could not even be sent. */
export function missingIn(values: JobForm, schema?: Record<string, unknown>): [keyof JobForm, string][] {
  const missing: [keyof JobForm, string][] = [];
  const needs = (field: keyof JobForm, isMissing: boolean, message: string) => {
    if (isMissing) missing.push([field, message]);
  };
  needs("name", values.name.trim() === "", "Give it a name.");
  needs("text", values.what === "systemEvent" && values.text.trim() === "", "Write what it is to say.");
  needs("message", values.what === "agentTurn" && values.message.trim() === "", "Write the task.");
  needs("at", values.when === "at" && values.at === "", "Choose a day and a time.");
  needs("every", values.when === "every" && values.every === null, "Say how often.");
  needs("expr", values.when === "cron" && values.expr.trim() === "", "Write a pattern.");
  if (values.when === "days" && values.days) {
    const made = cronOf(values.days);
    needs("days", "problem" in made, "problem" in made ? made.problem : "");
  }
  if (values.quiet === "own") {
    needs("quietFrom", values.quietFrom === "", "Choose a time.");
    needs("quietTo", values.quietTo === "", "Choose a time.");
  }
  if (values.when === "event") {
    const read = filtersOf(values.filters);
    needs("filters", "problem" in read, "problem" in read ? read.problem : "");
  }
  if (values.what === "toolCall") {
    needs("tool", values.tool === "", "Choose a tool.");
    const problems = Object.entries(argumentProblems(schema, values.arguments));
    needs("condition", values.notifyWhen === "condition" && values.condition.trim() === "", "Write the condition.");
    needs("arguments", problems.length > 0, problems.map(([name, problem]) => `${name}: ${problem}`).join(" "));
  }
  return missing;
}

function complain(form: UseFormReturn<JobForm>, complaints: Iterable<[keyof JobForm, string]>) {
  for (const [field, message] of complaints) form.setError(field, { message });
}

function troubleOf(form: UseFormReturn<JobForm>, error: unknown): Trouble | undefined {
  if (error instanceof RpcError && error.code === errorCode.stale) return { kind: "stale" };
  const { placed, others } = place(fieldErrors(error));
  complain(form, placed);
  if (others.length > 0) return { kind: "complaints", complaints: others };
  if (placed.size > 0) return undefined;
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}
