/* Parses previews. The lines together are the whole text. */

import { showInvisible } from "@/format/visible";

export type DiffLineKind = "added" | "removed" | "place" | "head" | "same";

export interface DiffLine {
  kind: DiffLineKind;
  text: string;
}

/** Lines of a diff; undefined for other text. */
export function diffOf(text: string): DiffLine[] | undefined {
  const lines = text.split("\n");
  if (!lines[0]?.startsWith("--- ") || !lines[1]?.startsWith("+++ ")) return undefined;
  return lines.map((line, i) => ({ kind: i < 2 ? "head" : kindOf(line), text: line }));
}

function kindOf(line: string): DiffLineKind {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("@@") ? "place" : "same";
}

/** Shortest distinguishing text: file and changed lines, or the first line. */
export function previewLine(text: string): string {
  const diff = diffOf(text);
  if (!diff) return text.split("\n").find((line) => line.trim() !== "") ?? "";
  const count = (kind: DiffLineKind) => diff.filter((line) => line.kind === kind).length;
  const file = diff[1]?.text.slice("+++ ".length) ?? "";
  return `${file}: ${count("added")} added, ${count("removed")} removed`;
}

/** Splits a command preview into the command and Rouse's notes. A preview that does not start with the command counts
    as command in full. */
export function splitCommandPreview(
  text: string,
  { command }: { command?: unknown },
): { shown: string; notes: string[] } {
  const shown = typeof command === "string" ? `${showInvisible(command)}\n\n` : undefined;
  if (shown === undefined || !text.startsWith(shown)) return { shown: text, notes: [] };
  return { shown: shown.slice(0, -2), notes: text.slice(shown.length).split("\n") };
}
