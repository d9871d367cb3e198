import { expect, test } from "vitest";

import { argumentsLine, withFullStop, firstLine, withoutRepeatedEnd } from "./text";

test.each([
  ["\n\n# Three things\nmore", "Three things"],
  ["**Bold** and `code`, [a link](https://x.example)", "Bold and code, a link"],
  ["- first\n- second", "first"],
  ["---\nafter a rule", "after a rule"],
  ["```sh\nls", "ls"],
  ["![alt](https://evil.example/p.png) seen", "alt seen"],
  ["", ""],
])("%j begins with %j", (text, line) => {
  expect(firstLine(text)).toBe(line);
});

test("long lines end in an ellipsis", () => {
  expect(firstLine("word ".repeat(100), 20)).toBe("word word word word…");
});

test.each([
  ["After Stretch", "After Stretch."],
  ["After Stretch.", "After Stretch."],
  ["After “Stretch.”", "After “Stretch.”"],
  ["After “Stretch”", "After “Stretch”."],
  ["And so on…", "And so on…"],
])("%j ends with one full stop", (text, sentence) => {
  expect(withFullStop(text)).toBe(sentence);
});

test("arguments fit on a line", () => {
  expect(argumentsLine({ url: "https://x.example", depth: 2, deep: { a: 1 } })).toBe(
    'url: https://x.example, depth: 2, deep: {"a":1}',
  );
  expect(argumentsLine("not json")).toBe("not json");
  expect(argumentsLine(null)).toBe("");
});

test.each([
  ["Exit code 1: no such file\n\nno such file", "Exit code 1: no such file"],
  ["Exit code 1: no such file\n\nfirst\nno such file", "Exit code 1: no such file\n\nfirst\nno such file"],
  ["Exit code 1: a\n\nb", "Exit code 1: a\n\nb"],
  ["No network.", "No network."],
  ["", ""],
])("repeated end of %j is dropped: %j", (error, said) => {
  expect(withoutRepeatedEnd(error)).toBe(said);
});
