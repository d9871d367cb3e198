import { expect, test } from "vitest";

import { aStep } from "@/test/fixtures";

import { toolCheckResult } from "./toolCheck";

const output = { name: "weather", hash: "ab", passed: true, errors: [], tests: [{ name: "a", passed: true }] };
const result = {
  name: "weather",
  hash: "ab",
  hasPassed: true,
  errors: [],
  tests: [{ name: "a", passed: true, log: [] }],
};

test.each([
  ["an object", output],
  ["a text", JSON.stringify(output)],
])("check result is read from %s", (_, given) => {
  expect(toolCheckResult(aStep({ name: "tool_check", output: given }))).toEqual(result);
});

test("unknown values of a result are replaced", () => {
  const given = { name: "weather", passed: false, errors: ["x", 7], tests: [{ passed: "yes", log: "asked" }, null] };
  expect(toolCheckResult(aStep({ name: "tool_check", output: given }))).toEqual({
    name: "weather",
    hash: undefined,
    hasPassed: false,
    errors: ["x"],
    tests: [{ name: "A test without a name", passed: false, log: [] }],
  });
});

test.each([
  { name: "http", output },
  { name: "tool_check", output: null },
  { name: "tool_check", output: "not JSON" },
  { name: "tool_check", output: { error: "There is no draft." } },
  { name: "tool_check", output, kind: "note" as const },
])("step %j has no check result", (parts) => {
  expect(toolCheckResult(aStep(parts))).toBeUndefined();
});
