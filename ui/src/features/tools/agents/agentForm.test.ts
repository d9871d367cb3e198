import { expect, test } from "vitest";

import { errorCode, RpcError } from "@/platform";
import { aPreset } from "@/test/fixtures";

import { definitionFrom } from "@/features/tools/servers/serverForm";
import { type AgentForm, newAgentForm, requestedForm, withPackageInstead } from "./agentForm";

const requested = (form: AgentForm) => definitionFrom(requestedForm(form), "/home/ada");

test("proposal is requested whole", () => {
  const preset = aPreset();
  expect(requested(newAgentForm(preset, []))).toEqual({ definition: preset.server });
});

test("package is requested with the arguments of the program", () => {
  const preset = aPreset({}, { arguments: ["--acp"] });
  const { transport } = preset.server;
  expect(requested({ ...newAgentForm(preset, []), start: "package" })).toEqual({
    definition: { ...preset.server, transport: { ...transport, command: "" } },
    source: preset.source,
  });
});

test("sign-in and hosts are left out with their variables", () => {
  const environment = { GOOSE_MODE: "approve", XDG_CONFIG_HOME: "~/.config", CLI_HOME: "~" };
  const form = newAgentForm(aPreset({}, { environment }), []);
  const { server } = aPreset({}, { environment: { GOOSE_MODE: "approve" }, folders: [], hosts: [] });
  expect(requested({ ...form, usesSignIn: false, usesHosts: false })).toEqual({ definition: server });
  expect(requested(form)).toMatchObject({ definition: { transport: { environment } } });
});

test("additions come after the proposal", () => {
  const form = newAgentForm(aPreset(), []);
  const server = {
    ...form.server,
    mode: "plan",
    pairs: "CLAUDE_CONFIG_DIR=/x\nKEY={{secret:k}}",
    folders: "~/lib",
    hosts: "proxy.example",
  };
  const read = requested({ ...form, server });
  expect(read).toMatchObject({
    definition: {
      mode: "plan",
      transport: {
        environment: { CLAUDE_CONFIG_DIR: "/x", KEY: "{{secret:k}}" },
        folders: ["~/.claude:write", "~/lib"],
        hosts: ["api.anthropic.com", "claude.ai", "proxy.example"],
      },
    },
  });
});

test("variable with JSON survives", () => {
  const environment = { CONFIG: '{"permission":{"edit":"ask","bash":"ask"}}' };
  expect(requested(newAgentForm(aPreset({}, { environment }), []))).toMatchObject({
    definition: { transport: { environment } },
  });
});

test("taken name gets a number", () => {
  const names = (...taken: string[]) => newAgentForm(aPreset(), taken).server.name;
  expect([names(), names("claude-code"), names("claude-code", "claude-code-2")]).toEqual([
    "claude-code",
    "claude-code-2",
    "claude-code-3",
  ]);
});

test("package replaces a missing program only without a choice", () => {
  const error = new RpcError(errorCode.invalidParams, "invalid", {
    fields: [{ path: "server.transport.command", message: "is not in PATH" }],
  });
  const form = newAgentForm(aPreset(), []);
  expect(withPackageInstead(form, error)).toMatchObject({ start: "package", isProgramMissing: true });
  expect(withPackageInstead({ ...form, start: "program" }, error)).toBeUndefined();
  expect(withPackageInstead(newAgentForm(aPreset({ source: undefined }), []), error)).toBeUndefined();
  expect(withPackageInstead(form, new Error("offline"))).toBeUndefined();
});

test("own agent without a command has a problem", () => {
  const form = newAgentForm(null, []);
  const read = requested({ ...form, server: { ...form.server, name: "mine" } });
  expect(read).toEqual({ problems: { source: "Add the command of the agent, such as my-agent --acp." } });
});
