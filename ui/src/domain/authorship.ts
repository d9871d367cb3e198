/* Authorship of a job and its message. Other programs may write these keys, so their shape is unknown. */

import { isJsonObject } from "@/format/json";
import type { Job } from "@/platform";

export interface AgentAuthor {
  /** Run in which the agent wrote the message, if known. */
  runId: string | undefined;
}

/** Agent that created a job; undefined for users. */
export function creatingAgent({ createdBy }: Pick<Job, "createdBy">): AgentAuthor | undefined {
  return agentAuthor(createdBy);
}

/** Agent signature of a job's message; undefined for users. */
export function messageAuthor({ createdBy, messageBy }: Pick<Job, "createdBy" | "messageBy">): unknown {
  const author = messageBy ?? createdBy;
  return isJsonObject(author) && author.kind === "agent" ? author : undefined;
}

/** Message written by an agent. */
export interface AgentMessage extends AgentAuthor {
  words: string;
}

/** The job's message if last written by an agent. */
export function agentMessage(job: Pick<Job, "createdBy" | "messageBy" | "payload">): AgentMessage | undefined {
  const maker = agentAuthor(messageAuthor(job));
  if (!maker || job.payload.kind === "toolCall") return undefined;
  return { ...maker, words: job.payload.kind === "agentTurn" ? job.payload.message : job.payload.text };
}

function agentAuthor(author: unknown): AgentAuthor | undefined {
  if (!isJsonObject(author) || author.kind !== "agent") return undefined;
  return { runId: typeof author.runId === "string" && author.runId !== "" ? author.runId : undefined };
}
