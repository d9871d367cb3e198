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
  if (!startsDiff(lines[0], lines[1])) return undefined;
  return lines.map((line, i) => ({ kind: i < 2 ? "head" : kindOf(line), text: line }));
}

function kindOf(line: string): DiffLineKind {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("@@") ? "place" : "same";
}

const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** Lines of an action of a coding agent, with the diffs in it. A hunk ends with the line count of its header. */
export function actionLines(text: string): DiffLine[] {
  const lines = text.split("\n");
  let [before, after] = [0, 0];
  return lines.map((line, i) => {
    if (before > 0 || after > 0) {
      const kind = kindOf(line);
      if (kind !== "added" && !line.startsWith("\\")) before -= 1;
      if (kind !== "removed" && !line.startsWith("\\")) after -= 1;
      return { kind, text: line };
    }
    const hunk = hunkHead.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
      return { kind: "place", text: line };
    }
    const isHead = startsDiff(line, lines[i + 1]) || startsDiff(lines[i - 1], line);
    return { kind: isHead ? "head" : "same", text: line };
  });
}

function startsDiff(line: string | undefined, next: string | undefined): boolean {
  return line?.startsWith("--- ") === true && next?.startsWith("+++ ") === true;
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
