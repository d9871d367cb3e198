import { expect, test } from "vitest";

import { readServerDocument } from "./serverDocument";

const npm = {
  registryType: "npm",
  identifier: "@x/files",
  version: "1.2.3",
  transport: { type: "stdio" },
  environmentVariables: [
    { name: "API_KEY", isRequired: true, isSecret: true },
    { name: "LEVEL", default: "info" },
    { name: "ZONE", isRequired: true },
    { name: "OTHER" },
  ],
  packageArguments: [
    { type: "named", name: "--mode", value: "read" },
    { type: "positional", valueHint: "folder", isRequired: true, default: "/a b" },
    { type: "positional", valueHint: "more" },
  ],
};

const remote = {
  type: "streamable-http",
  url: "https://a.example/mcp",
  headers: [{ name: "X-Key", isRequired: true, isSecret: true, value: "Bearer {key}" }],
};

function read(entry: object) {
  const found = readServerDocument(JSON.stringify(entry));
  return "servers" in found ? found.servers : [];
}

test("entry of the registry fills in package and remote", () => {
  const entry = { name: "io.example/my-files", packages: [npm], remotes: [remote] };
  for (const document of [entry, { server: entry, _meta: {} }]) {
    const [first, second] = read(document);
    expect(first).toMatchObject({
      title: "npm @x/files@1.2.3",
      form: {
        name: "my-files",
        source: "npm:@x/files@1.2.3",
        words: "--mode read '/a b'",
        pairs: "API_KEY={{secret:my_files_api_key}}\nLEVEL=info\nZONE=",
      },
      notes: ["The variable ZONE needs a value."],
    });
    expect(second).toMatchObject({
      title: "https://a.example/mcp",
      form: { source: "https://a.example/mcp", pairs: "X-Key: {{secret:my_files_x_key}}" },
    });
  }
});

test.each([
  [{ registryType: "oci" }, "is of the type oci."],
  [{ registryType: "mcpb" }, "add its path."],
  [{ transport: { type: "sse" } }, "is started for sse"],
])("unusable package %j names the reason", (parts, reason) => {
  const found = readServerDocument(JSON.stringify({ name: "x", packages: [{ ...npm, ...parts }] }));
  expect("problem" in found && found.problem).toContain(reason);
});

test("registry of an entry is named and not used", () => {
  expect(
    read({ packages: [{ ...npm, registryBaseUrl: "https://npm.example/", environmentVariables: [] }] })[0],
  ).toMatchObject({
    form: { source: "npm:@x/files@1.2.3" },
    notes: [
      "The entry names the package registry https://npm.example. Rouse uses the registry of your npm or pip settings.",
    ],
  });
});

test("usable remote stands beside an unusable package", () => {
  expect(read({ name: "x", packages: [{ ...npm, registryType: "oci" }], remotes: [remote] })).toHaveLength(1);
});

test("argument without a value is named", () => {
  const packageArguments = [{ type: "positional", valueHint: "folder", isRequired: true }];
  expect(read({ packages: [{ ...npm, packageArguments, environmentVariables: [] }] })[0]).toMatchObject({
    form: { words: "" },
    notes: ["The argument folder needs a value."],
  });
});
