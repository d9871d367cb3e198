import { expect, test } from "vitest";

import { parseJobServer, withJobServer } from "./jobServers";

test("optional ending is no part of the server name", () => {
  expect(parseJobServer("cal")).toEqual({ name: "cal", isOptional: false });
  expect(parseJobServer("cal:optional")).toEqual({ name: "cal", isOptional: true });
});

test.each([
  ["added", [], "cal", "required", ["cal"]],
  ["made optional in place", ["cal", "mail"], "cal", "optional", ["cal:optional", "mail"]],
  ["made required in place", ["cal:optional", "mail"], "cal", "required", ["cal", "mail"]],
  ["removed", ["cal:optional", "mail"], "cal", undefined, ["mail"]],
] as const)("server is %s", (_, before, name, use, after) => {
  expect(withJobServer(before, name, use)).toEqual(after);
});
