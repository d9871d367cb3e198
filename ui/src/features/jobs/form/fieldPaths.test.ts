import { toSentence } from "@/format/text";
import { expect, test } from "vitest";

import { place, fieldAt } from "./fieldPaths";

test.each([
  ["schedule.expr", "expr"],
  ["schedule.atMs", "at"],
  ["schedule.tz", "zone"],
  ["payload.message", "message"],
  ["payload.tools[2]", "tools"],
  ["payload.arguments.headers.Accept", "arguments"],
  ["policies.misfire.maxLatenessSeconds", "latest"],
  ["policies.misfire.mode", "misfire"],
  ["policies.budget.tokensPerRun", "tokensPerRun"],
  ["policies.budget.usdPerDay", "usdPerDay"],
  ["payload.fallbacks[1]", "fallbacks"],
  ["payload.contextPaths[1]", "contextPaths"],
  ["payload.maxTokens", "maxTokens"],
  ["payload.effort", "effort"],
  ["runtime.maxAttempts", "attempts"],
  ["name", "name"],
])("%s is shown at %s", (path, field) => {
  expect(fieldAt(path)).toBe(field);
});

test.each(["payload.channel", "isolation.postToMainPrefix", "schedule", "", "names"])("%j has no field", (path) => {
  expect(fieldAt(path)).toBeUndefined();
});

test("errors keep the first per field and collect the rest", () => {
  const { placed, others } = place([
    { path: "name", message: "is required" },
    { path: "name", message: "must be at most 200 characters" },
    { path: "payload.channel", message: "must be text, found 7" },
  ]);
  expect([...placed]).toEqual([["name", "This is required."]]);
  expect(others.map(({ path }) => path)).toEqual(["payload.channel"]);
});

test("complaints read as sentences", () => {
  expect(toSentence("must be in the future")).toBe("This must be in the future.");
  expect(toSentence("minute: expected 0 to 59, found `99`")).toBe("Minute: expected 0 to 59, found `99`.");
});
