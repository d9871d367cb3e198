import { toSentence } from "@/format/text";
import { expect, test } from "vitest";

import type { JobDraft } from "@/platform";

import { place, fieldAt, type FieldPath } from "./fieldPaths";

/** Paths of the values in a document; lists and maps are one value. */
type PathsOf<Part> = Part extends readonly unknown[]
  ? never
  : Part extends object
    ? { [Key in keyof Part & string]-?: PathsAt<Key, NonNullable<Part[Key]>> }[keyof Part & string]
    : never;
type PathsAt<Key extends string, Value> = [PathsOf<Value>] extends [never]
  ? Key
  : string extends PathsOf<Value>
    ? Key
    : Value extends object
      ? `${Key}.${PathsOf<Value>}`
      : Key;

/** Why a value of the job document has no form field. A new value without field or reason fails the type check. */
const reasonWithoutField: Record<Exclude<PathsOf<JobDraft>, FieldPath | `${FieldPath}.${string}`>, string> = {
  id: "set by the engine",
  createdAtMs: "set by the engine",
  updatedAtMs: "set by the engine",
  createdBy: "set by the engine",
  messageBy: "set by the engine",
  enabled: "switch of the page",
  "schedule.anchorMs": "the creation time; kept",
  "payload.timeoutSeconds": "of imported jobs; shown as default time limit",
  "payload.channel": "set on the command line",
  "payload.to": "set on the command line",
  "isolation.postToMainPrefix": "set on the command line",
};

test("value with a reason has no form field", () => {
  for (const path of Object.keys(reasonWithoutField)) expect(fieldAt(path)).toBeUndefined();
});

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
  ["policies.deliverTo[0]", "deliverTo"],
  ["payload.fallbacks[1]", "fallbacks"],
  ["payload.servers[0]", "servers"],
  ["payload.contextPaths[1]", "contextPaths"],
  ["payload.maxTokens", "maxTokens"],
  ["payload.effort", "effort"],
  ["payload.agent", "agent"],
  ["payload.cwd", "cwd"],
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
