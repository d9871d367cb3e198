import { expect, test } from "vitest";

import { argumentRows } from "./argumentTable";

test("required arguments come first with their type", () => {
  const schema = {
    type: "object",
    properties: {
      depth: { type: ["integer", "null"] },
      url: { type: "string", description: "Where." },
      method: { enum: ["GET", "HEAD"] },
      any: {},
    },
    required: ["url"],
  };
  expect(argumentRows(schema)).toEqual([
    { name: "url", required: true, takes: "text", about: "Where." },
    { name: "depth", required: false, takes: "whole number or nothing", about: "" },
    { name: "method", required: false, takes: '"GET" or "HEAD"', about: "" },
    { name: "any", required: false, takes: "anything", about: "" },
  ]);
});

test.each([[{}], [{ properties: [] }], [{ properties: null }]])(
  "schema without properties has no arguments: %j",
  (schema) => {
    expect(argumentRows(schema)).toEqual([]);
  },
);
