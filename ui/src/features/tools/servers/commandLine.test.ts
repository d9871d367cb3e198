import { expect, test } from "vitest";

import { commandLine, splitCommandLine } from "./commandLine";

test.each([
  ["npx -y @x/cal@1.0.0", ["npx", "-y", "@x/cal@1.0.0"]],
  ["  a   'two words'  \"it's\" ''", ["a", "two words", "it's", ""]],
  ['a b\\ c "say \\"x\\""', ["a", "b c", 'say "x"']],
  ["C:\\tools\\cal.exe --data C:\\x", ["C:\\tools\\cal.exe", "--data", "C:\\x"]],
  ["a \\\n  b", ["a", "b"]],
  ["files ~/Notes ~ '~/x' a~/b ~user", ["files", "/home/ada/Notes", "/home/ada", "~/x", "a~/b", "~user"]],
  ["", []],
])("line %j gives its words", (line, words) => {
  expect(splitCommandLine(line, "/home/ada")).toEqual(words);
});

test("open quote gives no words", () => {
  expect(splitCommandLine("a 'b", undefined)).toBeUndefined();
});

test.each([[["a", "two words", "", "it's", "~/x", "a;b", "@s/p@1.2"]], [["C:\\x y\\z", 'q"', "a\nb"]]])(
  "line of words %j gives the same words",
  (words) => {
    expect(splitCommandLine(commandLine(words), "/home/ada")).toEqual(words);
  },
);
