/* Labels of a tool's permissions. */

import { bytes } from "@/format/amount";
import type { Job, JobDraft, ToolView } from "@/platform";

export type ApprovalNeed = "never" | "some" | "first" | "always";

/** When a tool needs approval. Destructive open-world tools decide per call. */
export function approvalNeed({ approval, destructive, openWorld }: ToolView): ApprovalNeed {
  if (approval === "unlessGranted") return "first";
  if (approval === "always") return "always";
  return destructive && openWorld ? "some" : "never";
}

/** Job fields that affect approvals. */
export type JobPermissions = Pick<Job | JobDraft, "payload" | "policies">;

/** Approver: the user, none (denied), or the author of a call fixed in the job. */
export type Approver = "you" | "none" | "author";

/** Approver of a job's calls; the user without a job. */
export function approverOf(job: JobPermissions | undefined): Approver {
  if (job?.payload.kind === "toolCall") return "author";
  return (job?.policies?.approvals ?? "ask") === "ask" ? "you" : "none";
}

const approvalLabels: Record<Approver, Record<ApprovalNeed, string>> = {
  you: { never: "No approval", some: "Some need approval", first: "Needs approval", always: "Always needs approval" },
  none: { never: "No approval", some: "Some denied", first: "Denied unless granted", always: "Denied" },
  author: { never: "No approval", some: "No approval", first: "No approval", always: "No approval" },
};

/** Approval label of a tool, in general or for a job. */
export function approvalLabel(tool: ToolView, job?: JobPermissions): string {
  return approvalLabels[approverOf(job)][approvalNeed(tool)];
}

/** Rights of a call: Rouse's process, the sandbox, or the user's own. */
export type ToolRights = "rouse" | "sandbox" | "yours";

/** Calls fixed in a job are never sandboxed. */
export function rightsOf({ domain }: ToolView, job?: JobPermissions): ToolRights {
  if (domain !== "container") return "rouse";
  return job?.payload.kind === "toolCall" || job?.policies?.sandbox === "open" ? "yours" : "sandbox";
}

/** Accepted tools of an MCP server. */
export function toolsOfServer(tools: readonly ToolView[], server: string): ToolView[] {
  return tools.filter(({ origin }) => origin?.extension === server);
}

/** Short facts about a tool. */
export function toolFacts({
  readOnly,
  destructive,
  idempotent,
  openWorld,
  readsUntrusted,
  attendedOnly,
  domain,
  unavailableReason,
  origin,
}: ToolView): string[] {
  const isConfined = domain === "container";
  return [
    readOnly ? "Read-only." : destructive ? "Can change or overwrite data." : "Creates or changes data.",
    !readOnly && idempotent && "Idempotent: repeating a call changes nothing more.",
    openWorld && "Reaches beyond this computer.",
    readsUntrusted && "Can return untrusted input. A run that has read it needs approval to send data.",
    attendedOnly && "Only in Chat, never in an unattended run.",
    isConfined
      ? "Runs as a separate process, in the sandbox when a model or “Try it” calls it, unless the job allows commands outside."
      : origin === null
        ? "Runs inside Rouse."
        : `Comes from the extension ${origin.extension}.`,
    isConfined && "A call that you fix in a job runs with your full permissions, outside the sandbox.",
    unavailableReason !== null && `Models cannot call it here. ${unavailableReason}`,
  ].filter((line) => line !== false);
}

/** Replaces byte counts by readable sizes. */
export function humanizeSizes(text: string): string {
  return text.replace(/\b(\d{4,}) bytes\b/g, (_, size: string) => bytes(Number(size)));
}

/** First sentence of a description. */
export function firstSentence(text: string): string {
  const whole = humanizeSizes(text);
  return /^.*?[.:](?=\s|$)/.exec(whole)?.[0].replace(/:$/, ".") ?? whole;
}
