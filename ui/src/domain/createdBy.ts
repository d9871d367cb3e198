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
  return makerOf(createdBy);
}

/** What an agent signed a job's words with; undefined where they are a person's own. */
export function signatureOn({ createdBy, messageBy }: Pick<Job, "createdBy" | "messageBy">): unknown {
  const author = messageBy ?? createdBy;
  return isPlain(author) && author.kind === "agent" ? author : undefined;
}

/** Words of an agent's, and the run in which it wrote them. */
export interface Signed extends Maker {
  words: string;
}

/** What an agent wrote last of what a job says to its runs; undefined where the words are a person's, or there are none. */
export function signedWords(job: Pick<Job, "createdBy" | "messageBy" | "payload">): Signed | undefined {
  const maker = makerOf(signatureOn(job));
  if (!maker || job.payload.kind === "toolCall") return undefined;
  return { ...maker, words: job.payload.kind === "agentTurn" ? job.payload.message : job.payload.text };
}

function makerOf(author: unknown): Maker | undefined {
  if (!isPlain(author) || author.kind !== "agent") return undefined;
  return { runId: typeof author.runId === "string" && author.runId !== "" ? author.runId : undefined };
}
