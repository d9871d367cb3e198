/* What would happen, cut into lines for showing. Nothing is left out: the lines put together are the text. */

import { visible } from "@/format/visible";

export type LineKind = "added" | "removed" | "place" | "head" | "same";

export interface Line {
  kind: LineKind;
  text: string;
}

/** The lines of a comparison of two files; undefined when the text is none. */
export function diffOf(text: string): Line[] | undefined {
  const lines = text.split("\n");
  if (!lines[0]?.startsWith("--- ") || !lines[1]?.startsWith("+++ ")) return undefined;
  return lines.map((line, i) => ({ kind: i < 2 ? "head" : kindOf(line), text: line }));
}

function kindOf(line: string): LineKind {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("@@") ? "place" : "same";
}

/** The least that tells one call from another: the file and how much of it changes, or the first line of what would happen. */
export function previewLine(text: string): string {
  const diff = diffOf(text);
  if (!diff) return text.split("\n").find((line) => line.trim() !== "") ?? "";
  const count = (kind: LineKind) => diff.filter((line) => line.kind === kind).length;
  const file = diff[1]?.text.slice("+++ ".length) ?? "";
  return `${file}: ${count("added")} added, ${count("removed")} removed`;
}

/** What would happen, and behind a command what Rouse says of it (where it runs, how it is confined, how long), a line each: no
    line of the command may look like one of those. Where the command is not the beginning, nobody can say where it ends, and
    all of it is taken for the command. */
export function apart(text: string, { command }: { command?: unknown }): { shown: string; said: string[] } {
  const shown = typeof command === "string" ? `${visible(command)}\n\n` : undefined;
  if (shown === undefined || !text.startsWith(shown)) return { shown: text, said: [] };
  return { shown: shown.slice(0, -2), said: text.slice(shown.length).split("\n") };
}
