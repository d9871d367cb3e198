/* Difference of two texts as lines, in the form of a unified diff without omitted lines. */

import { pretty } from "@/components/Code";
import { hintLabels } from "@/domain/toolAccess";
import type { ToolDefinition } from "@/platform";

/** Beyond this many pairs of lines, the middle counts as replaced. */
const maxPairs = 4_000_000;

/** All fields of a definition as text. */
export function definitionText({ title, description, inputSchema, outputSchema, hints }: ToolDefinition): string {
  return [
    title !== undefined && `Label: ${title}`,
    description,
    `Server says: ${hintLabels(hints).join(", ")}`,
    `Arguments: ${pretty(inputSchema)}`,
    outputSchema !== undefined && `Result: ${pretty(outputSchema)}`,
  ]
    .filter((part) => part !== false)
    .join("\n");
}

export function lineDiff(before: string, after: string): string {
  const [was, is] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < was.length && start < is.length && was[start] === is[start]) start += 1;
  let end = 0;
  while (end < was.length - start && end < is.length - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const same = (lines: readonly string[]) => lines.map((line) => ` ${line}`);
  return [
    "--- accepted",
    "+++ offered",
    ...same(was.slice(0, start)),
    ...middle(was.slice(start, was.length - end), is.slice(start, is.length - end)),
    ...same(was.slice(was.length - end)),
  ].join("\n");
}

/** Longest common subsequence of lines. */
function middle(was: readonly string[], is: readonly string[]): string[] {
  const replaced = [...was.map((line) => `-${line}`), ...is.map((line) => `+${line}`)];
  if (was.length * is.length > maxPairs) return replaced;
  const width = is.length + 1;
  const lengths = new Uint32Array((was.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = was.length - 1; row >= 0; row -= 1)
    for (let column = is.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        was[row] === is[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: string[] = [];
  let [row, column] = [0, 0];
  while (row < was.length || column < is.length) {
    const [old, offered] = [was[row], is[column]];
    if (old !== undefined && old === offered) {
      lines.push(` ${old}`);
      row += 1;
      column += 1;
    } else if (old !== undefined && (offered === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(`-${old}`);
      row += 1;
    } else {
      lines.push(`+${offered ?? ""}`);
      column += 1;
    }
  }
  return lines;
}
