/* What a tool may do and where it runs, in words. */

import { bytes } from "@/format/amount";
import type { ToolView } from "@/platform";

export type Asks = "never" | "some" | "first" | "always";

/** When a tool asks. One that never does by itself, and yet can change things beyond this computer, says so call by call. */
export function asksOf({ approval, destructive, openWorld }: ToolView): Asks {
  if (approval === "unlessGranted") return "first";
  if (approval === "always") return "always";
  return destructive && openWorld ? "some" : "never";
}

const asks: Record<Asks, string> = { never: "Never asks", some: "Asks for some calls", first: "Asks first", always: "Asks every time" };

export function asksWord(tool: ToolView): string {
  return asks[asksOf(tool)];
}

/** What there is to know about a tool before it is used, one short line each. */
export function toolFacts({ readOnly, destructive, idempotent, openWorld, readsOutside, attendedOnly, domain, whyNotHere }: ToolView): string[] {
  return [
    readOnly ? "Only looks; it changes nothing." : destructive ? "Can change or overwrite what is there." : "Makes or changes things.",
    !readOnly && idempotent && "The same call a second time changes nothing more.",
    openWorld && "Reaches beyond this computer.",
    readsOutside && "Can bring in texts by others; a run that has read them asks before it tells anybody.",
    attendedOnly && "Only in a conversation with you, never in a run of its own.",
    domain === "container" ? "Runs as a process of its own in the sandbox." : "Runs inside Rouse.",
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
