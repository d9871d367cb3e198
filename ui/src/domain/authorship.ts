/* Authorship of a job and its message. Other programs may write these keys, so their shape is unknown. */

import { isJsonObject } from "@/format/json";
import { showOneLine } from "@/format/visible";
import type { Job } from "@/platform";

export interface AgentAuthor {
  /** Run in which the agent wrote the message, if known. */
  runId: string | undefined;
  /** Program outside of Rouse, by the name that it claims. */
  client: string | undefined;
}

/** Author in a sentence. A client's name is its own claim, with invisible characters shown. */
export function authorText({ client }: AgentAuthor): string {
  return client === undefined ? "an agent" : `“${showOneLine(client)}” (its own claim)`;
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
  return { runId: textOf(author.runId), client: textOf(author.client) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}
