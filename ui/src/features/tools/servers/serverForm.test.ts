import { expect, test } from "vitest";

import { aDefinition } from "@/test/fixtures";

import { readServerDocument } from "./serverDocument";
import { definitionFrom, emptyServerForm, pairsWarning, proposedName, serverFormFrom } from "./serverForm";

const form = { ...emptyServerForm, name: "cal" };

test("command line gives a process with its permissions", () => {
  const filled = {
    ...form,
    source: "MODE=x npx -y @x/cal@1.0.0 '~'",
    pairs: "TOKEN={{secret:cal}}\n\nURL=a=b",
    folders: "~/Notes:write\n",
    hosts: "api.example.org, b.example",
    startSeconds: 120,
  };
  expect(definitionFrom(filled, "/home/ada")).toEqual({
    definition: {
      ...aDefinition({
        command: "npx",
        arguments: ["-y", "@x/cal@1.0.0", "~"],
        environment: { MODE: "x", TOKEN: "{{secret:cal}}", URL: "a=b" },
        folders: ["~/Notes:write"],
        hosts: ["api.example.org", "b.example"],
      }),
      startTimeoutSeconds: 120,
    },
  });
});

test("address gives a remote server with headers", () => {
  const filled = { ...form, source: " https://mcp.example.org/v1 ", pairs: "Authorization: Bearer {{secret:x}}" };
  expect(definitionFrom(filled, undefined)).toEqual({
    definition: {
      transport: {
        kind: "http",
        url: "https://mcp.example.org/v1",
        headers: { Authorization: "Bearer {{secret:x}}" },
      },
    },
  });
});

test.each([
  [{ name: "My Cal", source: "a" }, "name"],
  [{ source: "" }, "source"],
  [{ source: "A=b" }, "source"],
  [{ source: "a 'b" }, "source"],
  [{ source: "a", pairs: "TOKEN" }, "pairs"],
  [{ source: "https://a.example", pairs: "A=b" }, "pairs"],
])("form %j has a problem at %s", (parts, field) => {
  const result = definitionFrom({ ...form, ...parts }, undefined);
  expect("problems" in result && Object.keys(result.problems)).toEqual([field]);
});

test("definition survives the form", () => {
  const stdio = {
    ...aDefinition({ arguments: ["two words"], environment: { A: "b c" }, folder: "/srv", isUnconfined: true }),
    callTimeoutSeconds: 5,
  };
  const remote = { transport: { kind: "http" as const, url: "https://a.example/mcp", headers: { "X-A": "b: c" } } };
  const agent = { ...aDefinition(), protocol: "acp" as const, mode: "default" };
  for (const definition of [stdio, remote, agent])
    expect(definitionFrom(serverFormFrom("cal", definition), undefined)).toEqual({ definition });
});

test.each([
  ["npx -y @modelcontextprotocol/server-filesystem@1.0.0 /a", "filesystem"],
  ["uvx mcp-server-time", "time"],
  ["/opt/bin/github-mcp-server stdio", "github"],
  ["node /opt/Cal_Server/main.js", "main"],
  ["docker run -i --rm mcp/fetch", "fetch"],
  ["https://mcp.example.org/v1", "example"],
  ["http://localhost:3000", "localhost"],
  ["7zip", "zip"],
  ["", ""],
])("name for %j is %j", (source, name) => {
  expect(proposedName(source, undefined)).toBe(name);
});

test("plain secret and foreign placeholder are warned about", () => {
  expect(pairsWarning("A=b\nGITHUB_TOKEN=ghp_x")).toMatch(/^GITHUB_TOKEN looks like a secret/);
  expect(pairsWarning("Authorization: Bearer x")).toMatch(/^Authorization looks like a secret/);
  expect(pairsWarning("KEY=${input:key}")).toMatch(/^KEY has the placeholder \$\{input:key\}/);
  expect(pairsWarning("GITHUB_TOKEN={{secret:github}}\nGITHUB_TOKEN=\nKEYBOARD=us")).toBeUndefined();
});

test("document gives each server with its form", () => {
  const text = `{"mcpServers": {
    "My Files": {"command": "npx", "args": ["-y", "files", "/a b"], "env": {"N": 1}, "cwd": "/srv", "autoApprove": []},
    "docs": {"serverUrl": "https://docs.example", "headers": {"X": "y"}, "oauth": {}}
  }}`;
  const read = readServerDocument(text);
  expect("servers" in read && read.servers).toEqual([
    {
      title: "My Files",
      form: { ...emptyServerForm, name: "my-files", source: "npx -y files '/a b'", pairs: "N=1", folder: "/srv" },
      notes: [],
    },
    {
      title: "docs",
      form: { ...emptyServerForm, name: "docs", source: "https://docs.example", pairs: "X: y" },
      notes: ["Without effect: oauth."],
    },
  ]);
});

test.each(['"cal": {"command": "cal-server"},', '{"cal": {"command": "cal-server"}}', '{"command": "cal-server"}'])(
  "part of a document names a server: %s",
  (text) => {
    const read = readServerDocument(text);
    expect("servers" in read && read.servers[0]?.form).toMatchObject({ name: "cal", source: "cal-server" });
  },
);

test.each([
  ['{"mcpServers": {', /not a valid JSON document/],
  ['{"mcpServers": {}}', /names no server/],
  ['{"a": {"url": "https://a.example", "type": "sse"}}', /old transport/],
  ['{"a": {"url": "https://a.example", "command": "x"}}', /either/],
])("document %s is refused", (text, problem) => {
  const read = readServerDocument(text);
  expect("problem" in read && read.problem).toMatch(problem);
});
