/* Who made a job, and who wrote its words. The keys are kept as they were written, by whatever program, so nothing about their shape is certain; only what an
   agent made is known by it. */

import { isPlain } from "@/format/json";
import type { Job } from "@/platform";

export interface Maker {
  /** The run in which it was made, when that is known. */
  runId: string | undefined;
}

/** The agent that made a job; undefined for a person's own. */
export function agentBehind({ createdBy }: Pick<Job, "createdBy">): Maker | undefined {
  if (!isPlain(createdBy) || createdBy.kind !== "agent") return undefined;
  return { runId: typeof createdBy.runId === "string" && createdBy.runId !== "" ? createdBy.runId : undefined };
}

/** What an agent signed a job's words with; undefined where they are a person's own. */
export function signatureOn({ createdBy, messageBy }: Pick<Job, "createdBy" | "messageBy">): unknown {
  const author = messageBy ?? createdBy;
  return isPlain(author) && author.kind === "agent" ? author : undefined;
}
