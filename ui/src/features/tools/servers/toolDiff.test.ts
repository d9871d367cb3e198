import { expect, test } from "vitest";

import { aToolDefinition } from "@/test/fixtures";

import { definitionText, lineDiff } from "./toolDiff";

const body = (before: string, after: string) => lineDiff(before, after).split("\n").slice(2);

test("diff shows changed lines between the same lines", () => {
  expect(body("a\nb\nc\nd", "a\nc\nx\nd")).toEqual([" a", "-b", " c", "+x", " d"]);
  expect(body("a", "a")).toEqual([" a"]);
  expect(body("a\na", "a")).toEqual([" a", "-a"]);
  expect(body("one", "two")).toEqual(["-one", "+two"]);
});

test("diff of a long text replaces the middle", () => {
  const lines = (prefix: string) => Array.from({ length: 2_100 }, (_, i) => `${prefix}${i}`).join("\n");
  const diff = body(`head\n${lines("a")}`, `head\n${lines("b")}`);
  expect(diff[0]).toBe(" head");
  expect(diff).toHaveLength(1 + 2 * 2_100);
});

test("definition text has every field", () => {
  const tool = aToolDefinition({ title: "List", outputSchema: { type: "array" } });
  expect(definitionText(tool)).toBe(
    [
      "Label: List",
      "Lists the events of a day.",
      "Server says: only reads",
      `Arguments: ${JSON.stringify(tool.inputSchema, null, 2)}`,
      `Result: ${JSON.stringify(tool.outputSchema, null, 2)}`,
    ].join("\n"),
  );
});
