/* Who made a job. The key is kept as it was written, by whatever program, so nothing about its shape is certain; only what an
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
