import { expect, test } from "vitest";

import { argumentProblems, argumentProperties, readJson, withArgument } from "./schema";

const http = {
  type: "object",
  properties: {
    headers: { type: "object" },
    maxBytes: { type: "integer", minimum: 1 },
    url: { type: "string", maxLength: 4096 },
    body: { type: "string", maxLength: 1_000_000 },
    op: { type: "string", enum: ["a", "b"] },
    value: {},
    again: { type: "boolean" },
  },
  required: ["url"],
};

test("required properties come first with fitting fields", () => {
  expect(argumentProperties(http).map(({ name, kind }) => [name, kind])).toEqual([
    ["url", "text"],
    ["headers", "json"],
    ["maxBytes", "integer"],
    ["body", "longText"],
    ["op", "choice"],
    ["value", "json"],
    ["again", "boolean"],
  ]);
  expect(argumentProperties(undefined)).toEqual([]);
  expect(argumentProperties({ type: "object" })).toEqual([]);
});

test("missing and invalid values are named", () => {
  expect(argumentProblems(http, { headers: "{", value: "plain" })).toEqual({
    url: "This is required.",
    headers: "This is not valid JSON.",
  });
  expect(argumentProblems(http, { url: "u", headers: { A: "1" } })).toEqual({});
});

test("emptied argument is absent", () => {
  expect(withArgument({ a: 1, b: 2 }, "a", "")).toEqual({ b: 2 });
  expect(withArgument({}, "a", false)).toEqual({ a: false });
  expect([readJson(""), readJson("[1]"), readJson("word")]).toEqual([undefined, [1], "word"]);
});
