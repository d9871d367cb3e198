/* What a tool may do and where it runs, in words. */

import { bytes } from "@/format/amount";
import type { Job, JobDraft, ToolView } from "@/platform";

export type Asks = "never" | "some" | "first" | "always";

/** When a tool asks. One that never does by itself, and yet can change things beyond this computer, says so call by call. */
export function asksOf({ approval, destructive, openWorld }: ToolView): Asks {
  if (approval === "unlessGranted") return "first";
  if (approval === "always") return "always";
  return destructive && openWorld ? "some" : "never";
}

/** What of a job decides about the calls of its runs. */
export type Bounds = Pick<Job | JobDraft, "payload" | "policies">;

/** Whom runs ask about a call that needs a yes: the person; nobody, and then it is refused; or nobody, because the person has
    written the call. */
export type Asked = "you" | "nobody" | "author";

/** Whom the runs of a job ask; where no job is meant, it is the person. */
export function askedBy(job: Bounds | undefined): Asked {
  if (job?.payload.kind === "toolCall") return "author";
  return (job?.policies?.approvals ?? "ask") === "ask" ? "you" : "nobody";
}

const asks: Record<Asked, Record<Asks, string>> = {
  you: { never: "Never asks", some: "Asks for some calls", first: "Asks first", always: "Asks every time" },
  nobody: { never: "Never asks", some: "Refuses some calls", first: "Refused unless granted", always: "Refused" },
  author: { never: "Never asks", some: "Never asks", first: "Never asks", always: "Never asks" },
};

/** Whether its calls ask, in a word; of a job, in its runs. */
export function asksWord(tool: ToolView, job?: Bounds): string {
  return asks[askedBy(job)][asksOf(tool)];
}

/** With whose rights a tool's calls run: Rouse's own, those that a sandbox leaves, or all that the person has. */
export type Rights = "rouse" | "sandbox" | "yours";

/** A call that the person has written into a job is never confined, and what a model chooses is not where its job says so. */
export function rightsOf({ domain }: ToolView, job?: Bounds): Rights {
  if (domain !== "container") return "rouse";
  return job?.payload.kind === "toolCall" || job?.policies?.sandbox === "open" ? "yours" : "sandbox";
}

/** What there is to know about a tool before it is used, one short line each. */
export function toolFacts({ readOnly, destructive, idempotent, openWorld, readsOutside, attendedOnly, domain, whyNotHere }: ToolView): string[] {
  const isConfined = domain === "container";
  return [
    readOnly ? "Only looks; it changes nothing." : destructive ? "Can change or overwrite what is there." : "Makes or changes things.",
    !readOnly && idempotent && "The same call a second time changes nothing more.",
    openWorld && "Reaches beyond this computer.",
    readsOutside && "Can bring in texts by others; a run that has read them asks before it tells anybody.",
    attendedOnly && "Only in a conversation with you, never in a run of its own.",
    isConfined ? "Runs as a process of its own: in the sandbox when a model or “Try it” calls it, unless the job lets its commands leave it." : "Runs inside Rouse.",
    isConfined && "A call that you write into a job has your own rights, outside the sandbox.",
    whyNotHere !== null && `No model’s call of it can be carried out here. ${whyNotHere}`,
  ].filter((line) => line !== false);
}

/** What is written for a model, with its sizes as a person says them: `at most 1 MB` for `at most 1048576 bytes`. */
export function forPeople(text: string): string {
  return text.replace(/\b(\d{4,}) bytes\b/g, (_, size: string) => bytes(Number(size)));
}

/** The first sentence of what is written for a model. */
export function firstSentence(text: string): string {
  const whole = forPeople(text);
  return /^.*?[.:](?=\s|$)/.exec(whole)?.[0].replace(/:$/, ".") ?? whole;
}
