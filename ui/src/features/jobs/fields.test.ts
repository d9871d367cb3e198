import { expect, test } from "vitest";

import { place, placeOf, sentence } from "./fields";

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
  expect(placeOf(path)).toBe(field);
});

test.each(["payload.channel", "isolation.postToMainPrefix", "schedule", "", "names"])("%j has no field", (path) => {
  expect(placeOf(path)).toBeUndefined();
});

test("complaints without a field are kept for the summary, and the first about a field is shown", () => {
  const { placed, others } = place([
    { path: "name", message: "is required" },
    { path: "name", message: "must be at most 200 characters" },
    { path: "payload.channel", message: "must be text, found 7" },
  ]);
  expect([...placed]).toEqual([["name", "This is required."]]);
  expect(others.map(({ path }) => path)).toEqual(["payload.channel"]);
});

test("complaints read as sentences", () => {
  expect(sentence("must be in the future")).toBe("This must be in the future.");
  expect(sentence("minute: expected 0 to 59, found `99`")).toBe("Minute: expected 0 to 59, found `99`.");
});
