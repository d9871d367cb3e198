/* Changes of existing jobs: merge patches, copies and restored jobs. Saves are differences of two drafts. Pitfall:
   sending the whole form would lose unknown keys, anchors and seconds. */

import { messageAuthor } from "@/domain/authorship";
import { type JsonObject, isEqualJson } from "@/format/json";
import type { Job, JobDraft, WrittenSchedule } from "@/platform";

import { jobDraftFrom, type JobForm } from "./jobForm";
import { applyMergePatch, mergePatch } from "./mergePatch";

/** Merge patch for `cron.update`; undefined without changes. */
export function jobPatch(before: JobForm, after: JobForm): Record<string, unknown> | undefined {
  const [was, is] = [jobDraftFrom(before), jobDraftFrom(after)];
  const patch = mergePatch({ ...was }, { ...is });
  if (!patch) return undefined;
  if (patch.schedule !== undefined) patch.schedule = schedulePatch(was.schedule, is.schedule);
  // The engine resets a changed kind, so the whole object is sent.
  if (was.schedule.kind !== is.schedule.kind) patch.schedule = is.schedule;
  if (was.payload.kind !== is.payload.kind) patch.payload = is.payload;
  return patch;
}

/** Schedule patch. A changed time or zone is sent with the other, and resets the instant. */
export function schedulePatch(was: WrittenSchedule | undefined, is: WrittenSchedule): JsonObject | undefined {
  const patch = mergePatch({ ...was }, { ...is });
  const isMoved = patch && ("at" in patch || "tz" in patch);
  return isMoved && "at" in is ? { ...patch, at: is.at, tz: is.tz, atMs: null } : patch;
}

/** Job for `cron.add`: the form, or the form's changes applied to `original`. Changed text loses the agent signature. */
export function newJobDraft(original: JobDraft | undefined, before: JobForm, after: JobForm): JobDraft {
  if (!original) return jobDraftFrom(after);
  const draft = applyMergePatch({ ...original }, jobPatch(before, after) ?? {}) as unknown as JobDraft;
  if (before.message !== after.message || before.text !== after.text) delete draft.messageBy;
  return draft;
}

/** Copy without identity and history. Keeps an agent's signature. */
export function copyJob(job: Job): JobDraft {
  const own = ["id", "createdAtMs", "updatedAtMs", "createdBy", "messageBy", "enabled", "state"];
  const copy = Object.fromEntries(Object.entries(job).filter(([key]) => !own.includes(key)));
  const signature = messageAuthor(job);
  return { ...copy, name: `${job.name} copy`, ...(signature !== undefined && { messageBy: signature }) } as JobDraft;
}

/** True if two jobs differ only in engine-written fields. */
export function isSameDefinition(a: Job, b: Job): boolean {
  return isEqualJson(definition(a), definition(b));
}

function definition(job: Job) {
  return { ...job, state: undefined, enabled: undefined, updatedAtMs: undefined };
}

/** Draft of a job for undoing a deletion. */
export function withoutState(job: Job): JobDraft {
  const draft: JobDraft & { state?: unknown } = { ...job };
  delete draft.state;
  return draft;
}
