import { expect, test } from "vitest";

import { readInstallSearch } from "@/features/tools/searchParams";

import { readInstallLink } from "./installLink";

const read = (search: Record<string, unknown>) => readInstallLink(readInstallSearch(search));

test.each([
  [{ npm: "@x/cal@1.2.3" }, "npm:@x/cal@1.2.3", "cal"],
  [{ npm: "cal" }, "npm:cal", "cal"],
  [{ pypi: "mcp-server-time==2025.9.25", name: "clock" }, "pypi:mcp-server-time==2025.9.25", "clock"],
  [{ url: "https://mcp.example.org/v1" }, "https://mcp.example.org/v1", "example"],
  [{ url: "http://127.0.0.1:3000/mcp" }, "http://127.0.0.1:3000/mcp", ""],
  [{ npm: "cal", name: "Not A Name" }, "npm:cal", "cal"],
  [{ npm: "cal", url: "/etc/passwd", command: "rm" }, "npm:cal", "cal"],
])("link %j fills in %s as %s", (search, source, name) => {
  const link = read(search);
  expect("form" in link && link.form).toMatchObject({ source, kind: null });
  expect("form" in link && link.form.name).toBe(name);
});

test("entry of a link is a query", () => {
  expect(read({ entry: "io.github.owner/server" })).toMatchObject({
    form: { source: "", name: "" },
    query: "io.github.owner/server",
  });
});

test.each([
  {},
  { command: "rm -rf /" },
  { npm: 5 },
  { npm: "cal --flag" },
  { npm: "../cal" },
  { npm: "./cal" },
  { npm: "file:/etc" },
  { pypi: "cal @ https://x.example" },
  { url: "http://mcp.example.org" },
  { url: "https://user:pass@mcp.example.org" },
  { url: "javascript:alert(1)" },
  { entry: "a b" },
  { npm: "a".repeat(513) },
])("link %j names no server", (search) => {
  expect(read(search)).toEqual({ problem: "The link names no package, no address and no registry entry." });
});

test("link with two sources is refused", () => {
  expect(read({ npm: "cal", entry: "io.example/cal" })).toEqual({
    problem: "The link names several servers. A link must name exactly one.",
  });
});
