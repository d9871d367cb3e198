import { expect, test } from "vitest";

import { argumentsOf } from "./schema";

test("what is required comes first, and each says what it takes", () => {
  const schema = {
    type: "object",
    properties: { depth: { type: ["integer", "null"] }, url: { type: "string", description: "Where." }, method: { enum: ["GET", "HEAD"] }, any: {} },
    required: ["url"],
  };
  expect(argumentsOf(schema)).toEqual([
    { name: "url", required: true, takes: "a text", about: "Where." },
    { name: "depth", required: false, takes: "a whole number or nothing", about: "" },
    { name: "method", required: false, takes: '"GET" or "HEAD"', about: "" },
    { name: "any", required: false, takes: "anything", about: "" },
  ]);
});

test.each([[{}], [{ properties: [] }], [{ properties: null }]])("a schema without properties has no arguments: %j", (schema) => {
  expect(argumentsOf(schema)).toEqual([]);
});
