import { expect, test } from "vitest";

import type { UsageView } from "@/platform";
import { aStep, noUsage } from "@/test/fixtures";

import { callsOf, costWords, failureOf, modelText, resultLine, tokensLine, usageOf, wentWrong } from "./steps";

test.each([
  ["just words", "just words"],
  [{ text: "as text" }, "as text"],
  [{ parts: [{ type: "text", text: "a" }, { type: "toolCall", tool: "x" }, { type: "text", text: "b" }] }, "ab"],
  [[{ type: "text", text: "bare list" }], "bare list"],
  [{ parts: [{ type: "text", text: 7 }, null] }, ""],
  [null, ""],
])("the words of %j are %j", (output, text) => {
  expect(modelText(output)).toBe(text);
});

test("a turn that only asks for tools names them", () => {
  expect(callsOf({ text: "", calls: [{ tool: "http", arguments: {} }, { tool: "read_file" }, {}], model: "m" })).toEqual(["http", "read_file"]);
  expect(callsOf(null)).toEqual([]);
});

test("a failed turn says its error in words", () => {
  expect(failureOf({ error: "The provider is overloaded." })).toBe("The provider is overloaded.");
  expect(failureOf("as it is")).toBe("as it is");
  expect(failureOf(null)).toBe(null);
});

test.each([
  [{ success: true, size: 14, content: "dentist 10:30", stderr: "" }, "size: 14, content: dentist 10:30"],
  [{ success: false, error: "Exit code 3.", stdout: "" }, "Exit code 3."],
  ["as it is", "as it is"],
  [{ content: "a\nb\n", size: 6 }, "content: a…, size: 6"],
  [{ content: "a\n" }, "content: a"],
  [[1, 2], "[1,2]"],
  [7, "7"],
])("the result %j fits on a line", (output, line) => {
  expect(resultLine(output)).toBe(line);
});

test("a step without a model has no tokens", () => {
  expect(tokensLine(noUsage)).toBeUndefined();
  expect(tokensLine({ ...noUsage, inputTokens: 3_120, outputTokens: 212 })).toBe("3.1k in, 212 out");
});

test.each([
  ["a model's turn with its price", { inputTokens: 3_120, outputTokens: 212, costMicroUsd: 4_200 }, "$0.0042"],
  ["a model that costs nothing", { inputTokens: 3_120, costMicroUsd: 0 }, "$0"],
  ["a model that nobody knows the price of", { outputTokens: 212 }, "cost unknown"],
  ["a tool that costs something", { costMicroUsd: 20_000 }, "$0.020"],
  ["a tool that says it cost nothing", { costMicroUsd: 0 }, undefined],
  ["a step that nobody is paid for", {}, undefined],
])("of %s the cost is said as it is", (_, usage, words) => {
  expect(costWords({ ...noUsage, ...usage })).toBe(words);
});

test("what steps have used is one sum, of which one unknown price leaves nobody knowing the whole", () => {
  const turn = (parts: Partial<UsageView>) => aStep({ usage: { ...noUsage, ...parts } });
  const steps = [turn({ inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, costMicroUsd: 7 }), turn({}), turn({ costMicroUsd: 5 })];
  expect(usageOf(steps)).toEqual({ inputTokens: 100, cachedInputTokens: 40, outputTokens: 10, costMicroUsd: 12 });
  expect(usageOf([...steps, turn({ outputTokens: 1 })])).toMatchObject({ outputTokens: 11, costMicroUsd: null });
  expect(usageOf([])).toMatchObject({ inputTokens: 0, costMicroUsd: 0 });
});

test("an unknown outcome is not a good one", () => {
  expect(wentWrong(aStep())).toBe(false);
  expect(wentWrong(aStep({ isError: true }))).toBe(true);
  expect(wentWrong(aStep({ status: "unknown" }))).toBe(true);
});
