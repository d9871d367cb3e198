import { expect, test } from "vitest";

import { aServerTool, aTool } from "@/test/fixtures";

import { groupTools } from "./toolGroups";

test("built-in tools are grouped and server tools left out", () => {
  const names = ["echo", "routine_list", "http", "memory_read", "run_command", "write_file", "read_file"];
  const grouped = groupTools([...names.map((name) => aTool({ name })), aServerTool("list_events")]);
  expect(grouped.map(({ title, tools }) => [title, ...tools.map(({ name }) => name)])).toEqual([
    ["Files", "write_file", "read_file"],
    ["Web", "http"],
    ["Commands", "run_command"],
    ["Memory", "memory_read"],
    ["Jobs", "routine_list"],
    ["Other", "echo"],
  ]);
});
