/* What would happen, cut into lines and marks for showing. Nothing is left out: the lines put together are the text. */

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

/** The text in parts; odd ones are marks that stand for what cannot be seen: `⟨U+001B⟩`. */
export function marksIn(text: string): string[] {
  return text.split(/(⟨U\+[0-9A-F]{4,6}⟩)/);
}

/** How many marks a text has. */
export function hiddenIn(text: string): number {
  return Math.floor(marksIn(text).length / 2);
}
