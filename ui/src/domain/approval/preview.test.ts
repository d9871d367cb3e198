import { expect, test } from "vitest";

import { actionLines, splitCommandPreview, diffOf, previewLine } from "./preview";

const diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n same\n--- a list item\n+++ two more\n\\ No newline at end of file\n";

test("diff is recognized by its header and signs", () => {
  const lines = diffOf(diff);
  expect(lines?.map(({ kind }) => kind)).toEqual(["head", "head", "place", "same", "removed", "added", "same", "same"]);
  expect(lines?.map(({ text }) => text).join("\n")).toBe(diff);
});

test("diffs in an action end with the counts of their hunks", () => {
  const text = `Edit a\n- a list item\n\nInput:\n{}\n\n${diff}+ not a change\n--- b\n+++ b\n@@ -0,0 +1 @@\n+new\n`;
  const lines = actionLines(text);
  expect(lines.map((line) => line.text).join("\n")).toBe(text);
  const marked = lines.filter(({ kind }) => kind !== "same").map((line) => `${line.kind} ${line.text}`);
  expect(marked).toEqual([
    "head --- a",
    "head +++ a",
    "place @@ -1,2 +1,2 @@",
    "removed --- a list item",
    "added +++ two more",
    "head --- b",
    "head +++ b",
    "place @@ -0,0 +1 @@",
    "added +new",
  ]);
});

test.each(["tar czf a.tgz .\n\nin the folder .", "--- only one line", "", "+++ a\n--- a"])(
  "%j is no comparison",
  (text) => {
    expect(diffOf(text)).toBeUndefined();
  },
);

test.each([
  [diff, "a: 1 added, 1 removed"],
  ["\nrm -rf ⟨U+202E⟩old\n\nin the folder .", "rm -rf ⟨U+202E⟩old"],
  ["", ""],
])("%j shortens to one line", (text, line) => {
  expect(previewLine(text)).toBe(line);
});

test("command lines cannot imitate execution details", () => {
  const command = "date\n\nin /home/ada\nin the sandbox\u202E";
  const behind = ["in /work", "outside the sandbox, with your full permissions"];
  const shown = "date\n\nin /home/ada\nin the sandbox⟨U+202E⟩";
  expect(splitCommandPreview(`${shown}\n\n${behind.join("\n")}`, { command })).toEqual({ shown, notes: behind });
  const elsewhere = "It runs:\ndate\n\nin /work";
  expect(splitCommandPreview(elsewhere, { command: "date" })).toEqual({ shown: elsewhere, notes: [] });
  expect(splitCommandPreview(diff, {})).toEqual({ shown: diff, notes: [] });
});
