/* Access of MCP tools: how calls are judged. The person chooses it. */

import type { ToolAccess, ToolHints } from "@/platform";

export const accessChoices: readonly { id: ToolAccess; label: string; about: string }[] = [
  { id: "readsOnly", label: "Reads only", about: "No approval needed." },
  { id: "ask", label: "Ask", about: "Approval needed unless granted." },
  { id: "alwaysAsk", label: "Always ask", about: "Approval needed every time." },
  { id: "off", label: "Off", about: "Not offered." },
];

const claims: readonly { hint: keyof ToolHints; yes: string; no: string }[] = [
  { hint: "readOnly", yes: "only reads", no: "has side effects" },
  { hint: "destructive", yes: "may delete or overwrite", no: "deletes and overwrites nothing" },
  { hint: "idempotent", yes: "repeating has no further effect", no: "repeating has a further effect" },
  { hint: "openWorld", yes: "reaches beyond its own data", no: "stays in its own data" },
];

/** A server's claims about the side effects of a tool. */
export function hintLabels(hints: ToolHints): string[] {
  const labels = claims.flatMap(({ hint, yes, no }) => {
    const claim = hints[hint];
    return claim === undefined ? [] : [claim ? yes : no];
  });
  return labels.length === 0 ? ["nothing about side effects"] : labels;
}
