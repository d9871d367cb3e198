import { expect, test } from "vitest";

import type { Usage } from "@/platform";
import { aStep, noUsage } from "@/test/fixtures";

import {
  calledTools,
  costLabel,
  stepError,
  modelText,
  resultLine,
  tokensLabel,
  totalUsage,
  isFailedStep,
} from "./steps";

test.each([
  ["just words", "just words"],
  [{ text: "as text" }, "as text"],
  [
    {
      parts: [
        { type: "text", text: "a" },
        { type: "toolCall", tool: "x" },
        { type: "text", text: "b" },
      ],
    },
    "ab",
  ],
  [[{ type: "text", text: "bare list" }], "bare list"],
  [{ parts: [{ type: "text", text: 7 }, null] }, ""],
  [null, ""],
])("text of %j is %j", (output, text) => {
  expect(modelText(output)).toBe(text);
});

test("turn with tool calls names the tools", () => {
  expect(
    calledTools({ text: "", calls: [{ tool: "http", arguments: {} }, { tool: "read_file" }, {}], model: "m" }),
  ).toEqual(["http", "read_file"]);
  expect(calledTools(null)).toEqual([]);
});

test("failed model turn returns its error text", () => {
  expect(stepError({ error: "The provider is overloaded." })).toBe("The provider is overloaded.");
  expect(stepError("as it is")).toBe("as it is");
  expect(stepError(null)).toBe(null);
});

test.each([
  [{ success: true, size: 14, content: "dentist 10:30", stderr: "" }, "size: 14, content: dentist 10:30"],
  [{ success: false, error: "Exit code 3.", stdout: "" }, "Exit code 3."],
  ["as it is", "as it is"],
  [{ content: "a\nb\n", size: 6 }, "content: a…, size: 6"],
  [{ content: "a\n" }, "content: a"],
  [[1, 2], "[1,2]"],
  [7, "7"],
])("result %j fits on one line", (output, line) => {
  expect(resultLine(output)).toBe(line);
});

test("step without a model has no tokens", () => {
  expect(tokensLabel(noUsage)).toBeUndefined();
  expect(tokensLabel({ ...noUsage, inputTokens: 3_120, outputTokens: 212 })).toBe("3.1k in, 212 out");
});

test.each([
  ["a model's turn with its price", { inputTokens: 3_120, outputTokens: 212, costMicroUsd: 4_200 }, "$0.0042"],
  ["a model that costs nothing", { inputTokens: 3_120, costMicroUsd: 0 }, "$0"],
  ["a model that nobody knows the price of", { outputTokens: 212 }, "cost unknown"],
  ["a tool that costs something", { costMicroUsd: 20_000 }, "$0.020"],
  ["a tool that says it cost nothing", { costMicroUsd: 0 }, undefined],
  ["a step that nobody is paid for", {}, undefined],
])("cost of %s is labeled", (_, usage, words) => {
  expect(costLabel({ ...noUsage, ...usage })).toBe(words);
});

test("total usage has an unknown cost if one price is missing", () => {
  const turn = (parts: Partial<Usage>) => aStep({ usage: { ...noUsage, ...parts } });
  const steps = [
    turn({ inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, costMicroUsd: 7 }),
    turn({}),
    turn({ costMicroUsd: 5 }),
  ];
  expect(totalUsage(steps)).toEqual({ inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, costMicroUsd: 12 });
  expect(totalUsage([...steps, turn({ outputTokens: 1 })])).toMatchObject({ outputTokens: 11, costMicroUsd: null });
  expect(totalUsage([])).toMatchObject({ inputTokens: 0, costMicroUsd: 0 });
});

test("unknown outcome is no success", () => {
  expect(isFailedStep(aStep())).toBe(false);
  expect(isFailedStep(aStep({ isError: true }))).toBe(true);
  expect(isFailedStep(aStep({ status: "unknown" }))).toBe(true);
});
