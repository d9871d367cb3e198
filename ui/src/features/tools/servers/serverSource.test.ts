import { expect, test } from "vitest";

import { aDefinition, aPackage } from "@/test/fixtures";

import { definitionFrom, emptyServerForm, proposedName, type ServerForm, serverFormFrom } from "./serverForm";
import { detectKind, packageOffer, packageSpec, pathOf } from "./serverSource";

const home = "/home/ada";

test.each([
  ["npm:cal@1.2.3", "npm"],
  ["@x/cal@1.2.3", "npm"],
  ["@x/cal", "npm"],
  ["cal@latest", "npm"],
  ["pypi:cal==1.2.3", "pypi"],
  ["mcp-server-time==2025.9.25", "pypi"],
  ["https://cal.example/mcp", "url"],
  ["~/Downloads/my notes.mcpb", "mcpb"],
  ["'/a b/notes.mcpb'", "mcpb"],
  ["notes.mcpb", "mcpb"],
  ["file:///srv/notes.mcpb", "mcpb"],
  ["/srv/dev/", "folder"],
  ["C:\\dev\\", "folder"],
  ["/usr/bin/cal-server", "command"],
  ["npx -y cal@1.2.3", "command"],
  ["cal --bundle x.mcpb", "command"],
  ["", "command"],
])("source %j is detected as %s", (source, kind) => {
  expect(detectKind(source)).toBe(kind);
});

test.each([
  ["npm", "npm:@x/cal@1.2.3", "@x/cal", "1.2.3"],
  ["npm", "@x/cal", "@x/cal", ""],
  ["pypi", "pypi:cal==1.2.3", "cal", "1.2.3"],
  ["pypi", "cal@1.2.3", "cal", "1.2.3"],
] as const)("%s package %s has a name and a version", (kind, source, name, version) => {
  expect(packageSpec(kind, source)).toEqual({ name, version });
});

test.each([
  ["~/dev/", "/home/ada/dev"],
  ['"/a b/c"', "/a b/c"],
  ["file:///srv/x.mcpb", "/srv/x.mcpb"],
  ["/", "/"],
])("path of %j is %j", (source, path) => {
  expect(pathOf(source, home)).toBe(path);
});

test.each([
  ["npx -y @x/cal@1.2.3 --stdio '/a b'", "npm:@x/cal@1.2.3", "--stdio '/a b'", ""],
  ["/usr/bin/npx.cmd cal", "npm:cal", "", ""],
  ["npm exec -- cal@1.2.3", "npm:cal@1.2.3", "", ""],
  ["npx -p @x/all@2.0.0 cal x", "npm:@x/all@2.0.0", "x", "cal"],
  ["uvx cal==1.2.3", "pypi:cal==1.2.3", "", ""],
  ["uvx --from=cal-tools==1.0 cal", "pypi:cal-tools==1.0", "", "cal"],
  ["uv tool run cal@1.2.3 -v", "pypi:cal==1.2.3", "-v", ""],
])("command %s offers its package", (command, source, words, program) => {
  expect(packageOffer(command, home)).toMatchObject({ source, words, program, variables: {} });
});

test.each(["node cal.js", "npx --unknown cal@1.2.3", "npx ./cal", "uvx git+https://x.example/cal", "npx"])(
  "command %s offers no package",
  (command) => {
    expect(packageOffer(command, home)).toBeUndefined();
  },
);

test("variables of a command go with its package", () => {
  expect(packageOffer("TOKEN=x npx cal@1.2.3", home)?.variables).toEqual({ TOKEN: "x" });
});

const form = (parts: Partial<ServerForm>) => ({ ...emptyServerForm, name: "cal", ...parts });

test("npm package has arguments, program and runtime", () => {
  const filled = form({
    source: "@x/cal@1.2.3",
    words: "--dir '/a b'",
    program: "cal",
    runtime: "/opt/node",
    pairs: "A=b",
  });
  expect(definitionFrom(filled, home)).toEqual({
    definition: aDefinition({ command: "/opt/node", arguments: ["--dir", "/a b"], environment: { A: "b" } }),
    source: { kind: "npm", package: "@x/cal", version: "1.2.3", program: "cal" },
  });
});

test("bundle has settings with several values", () => {
  const filled = form({ source: "~/notes.mcpb", config: "key={{secret:k}}\ndir=/a\ndir=/b=c", runtime: "/opt/node" });
  expect(definitionFrom(filled, home)).toEqual({
    definition: aDefinition({ command: "", arguments: [] }),
    source: {
      kind: "mcpb",
      file: "/home/ada/notes.mcpb",
      config: { key: ["{{secret:k}}"], dir: ["/a", "/b=c"] },
    },
  });
});

test("folder has a command of its own", () => {
  const filled = form({ kind: "folder", source: "/srv/dev/", words: "node dist/index.js" });
  expect(definitionFrom(filled, home)).toEqual({
    definition: aDefinition({ command: "node", arguments: ["dist/index.js"] }),
    source: { kind: "folder", path: "/srv/dev" },
  });
});

test.each([
  [{ kind: "npm", source: "npm:" }, "source"],
  [{ kind: "url", source: "cal" }, "source"],
  [{ source: "notes.mcpb" }, "source"],
  [{ source: "/a.mcpb", config: "key" }, "config"],
  [{ kind: "folder", source: "/srv/dev" }, "words"],
  [{ source: "cal@1.2.3", words: "'" }, "words"],
] as const)("package %j has a problem at %s", (parts, field) => {
  const result = definitionFrom(form(parts), home);
  expect("problems" in result && Object.keys(result.problems)).toEqual([field]);
});

test("installed package survives the form without its hashes", () => {
  const draft = aDefinition({ command: "/opt/node", arguments: ["a b"], environment: { A: "b" } });
  const bundle = { kind: "mcpb" as const, file: "/a/n.mcpb", config: { dir: ["/a", "/b"] } };
  const folder = { kind: "folder" as const, path: "/srv/dev" };
  const python = { kind: "pypi" as const, package: "cal", version: "1.0", program: "cal" };
  for (const [source, own] of [
    [python, draft],
    [bundle, aDefinition({ command: "", arguments: ["a b"], environment: { A: "b" } })],
    [folder, draft],
  ] as const) {
    const installed = aPackage({ source: "path" in source ? { ...source, sha256: "0a" } : source, draft: own });
    const read = definitionFrom(serverFormFrom("cal", aDefinition(), installed), home);
    expect(read).toEqual({ definition: own, source });
  }
});

test("client of a sign-in survives the form", () => {
  const transport = { kind: "http" as const, url: "https://a.example", headers: {}, oauth: { clientId: "x" } };
  expect(definitionFrom(serverFormFrom("cal", { transport }), home)).toEqual({ definition: { transport } });
});

test.each([
  ["npm:@modelcontextprotocol/server-memory@1.0.0", "memory"],
  ["mcp-server-time==1.2", "time"],
  ["uvx mcp-server-git==1.2 --x", "git"],
  ["~/My Files/notes.mcpb", "notes"],
  ["/srv/dev-server/", "dev"],
])("name for package %j is %j", (source, name) => {
  expect(proposedName(source, home)).toBe(name);
});
