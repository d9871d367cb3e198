import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { type ConfigView, errorCode, type ProviderView, RpcError, type SecretView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { renderApp } from "@/test/renderApp";

import { secretHost, freeSecretName } from "./providerSecret";

const work: ProviderView = {
  name: "work",
  label: "work (m)",
  kind: "openai",
  baseUrl: "https://llm.example.com/v1",
  model: "m",
  source: "config",
  keyEnv: null,
  keySecret: null,
  problem: null,
  state: "answered",
  tests: [],
};
const secret: SecretView = {
  name: "work",
  hosts: ["llm.example.com"],
  servers: [],
  setAtMs: 0,
  storedIn: "keyring",
  problem: null,
  warning: null,
};

function hostWith(provider: Partial<ProviderView> = {}, secrets: SecretView[] = []) {
  const view = { ...work, ...provider };
  const config = {
    path: "/c",
    revision: "r1",
    changedByHand: false,
    problem: null,
    unknownKeys: [],
    unmetSettings: [],
    pendingRestart: [],
    cron: { enabled: true, maxConcurrentRuns: 2 },
    system: { keepAwake: false },
    tools: { readFileMaxBytes: 524_288, maxSteps: 10, runCommandTimeoutMs: 600_000, allowPrivateHosts: [] },
    search: { provider: null, url: null, keyEnv: null, keySecret: null },
    registries: { servers: null, skills: null },
    computers: {},
    deliverTo: null,
    deliverFailuresTo: null,
    deliverApprovalsTo: null,
    gateway: { port: 7717, names: [] },
    heartbeat: { enabled: true, everyMs: 1_800_000, activeHours: null, prompt: null, skills: [], model: null },
    quietHours: null,
    workspace: "/w",
    riskyWorkspace: { enabled: false, root: null },
    model: {
      provider: null,
      name: null,
      patienceSeconds: 900,
      providers: [
        {
          name: view.name,
          kind: view.kind,
          baseUrl: view.baseUrl,
          model: view.model,
          keyEnv: view.keyEnv,
          keySecret: view.keySecret,
          contextTokens: null,
          effort: null,
        },
      ],
    },
    retention: { runsPerJob: 1, messagesPerSession: 1, maxDatabaseMb: 1 },
    budget: { tokensPerDay: null, usdPerDay: null },
    prices: { listedOn: "2026-10-07", own: [] },
    overridden: [],
  } satisfies ConfigView;
  return fakeHost({
    "config.get": () => config,
    "config.patch": () => config,
    "providers.list": () => ({ active: view.name, providers: [view] }),
    "secrets.list": () => ({ secrets, warning: null }),
    "secrets.set": ({ name, hosts }) => ({ ...secret, name, hosts: hosts ?? secret.hosts }),
    "secrets.remove": () => ({ changed: true, manualCleanup: null }),
  });
}

test("key is bound to the host and http only if given", () => {
  expect(secretHost("https://llm.example.com/v1")).toBe("llm.example.com");
  expect(secretHost(" https://LLM.example.com:8443/v1 ")).toBe("llm.example.com:8443");
  expect(secretHost("http://192.168.1.20:8080/v1")).toBe("http://192.168.1.20:8080");
  for (const none of ["", "llm.example.com", "ftp://x"]) expect(secretHost(none)).toBeUndefined();
});

test("secret name follows the provider and avoids others", () => {
  expect(freeSecretName("work", [])).toBe("work");
  expect(freeSecretName("My Box", ["my-box"])).toBe("my-box-key");
  expect(freeSecretName("work", ["work", "work-key"])).toBe("work-key-2");
  expect(freeSecretName("x".repeat(80), [])).toHaveLength(56);
});

async function fill(user: ReturnType<typeof renderApp>["user"], fields: Record<string, string>) {
  await user.click(await screen.findByRole("button", { name: /Add provider manually/ }));
  const form = within(screen.getByRole("form", { name: "Add provider" }));
  for (const [label, text] of Object.entries(fields)) {
    await user.click(form.getByLabelText(label));
    await user.paste(text);
  }
  await user.click(screen.getByRole("button", { name: "Add provider" }));
}

const other = { Name: "Other", URL: "https://other.example/v1", Model: "m", "API key": "sk-0123456789" };

test("key entered with a provider becomes a secret", async () => {
  const host = hostWith({}, [{ ...secret, name: "other" }]);
  const { user } = renderApp("/settings", host);
  await fill(user, other);
  expect(await screen.findByText("Saved")).toBeInTheDocument();
  expect(host.called("secrets.set")).toEqual([{ name: "other-key", value: "sk-0123456789", hosts: ["other.example"] }]);
  expect(host.called("config.patch")).toEqual([
    {
      patch: {
        providers: {
          other: { kind: "openai", baseUrl: "https://other.example/v1", model: "m", keySecret: "other-key" },
        },
      },
    },
  ]);
  expect(screen.getByLabelText("API key")).toHaveAttribute("type", "password");
  expect(screen.getByLabelText("API key")).toHaveValue("");
});

test("failed provider addition leaves no key", async () => {
  const host = hostWith();
  host.answers["config.patch"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "no", {
        fields: [{ path: "providers.other.model", message: "must not be so" }],
      }),
    );
  const { user } = renderApp("/settings", host);
  await fill(user, other);
  expect(await screen.findByText("This must not be so.")).toBeInTheDocument();
  expect(host.called("secrets.remove")).toEqual([{ name: "other" }]);
});

test("invalid key shows at its field and adds nothing", async () => {
  const host = hostWith();
  host.answers["secrets.set"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "no", {
        fields: [{ path: "value", message: "a secret has at least 4 characters" }],
      }),
    );
  const { user } = renderApp("/settings", host);
  await fill(user, { ...other, "API key": "abc" });
  expect(await screen.findByText("A secret has at least 4 characters.")).toBeInTheDocument();
  expect(host.called("config.patch")).toEqual([]);
});

test("stored key can be replaced and removed but never shown", async () => {
  const host = hostWith({ keySecret: "work" }, [secret]);
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/Key stored as/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Replace key of work (m)" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Key"), "sk-9876543210");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  expect(host.called("secrets.set")).toEqual([{ name: "work", value: "sk-9876543210" }]);
  expect(host.called("config.patch")).toEqual([]);

  await user.click(screen.getByRole("button", { name: "Remove key of work (m)" }));
  await user.click(within(await screen.findByRole("alertdialog")).getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(host.called("secrets.remove")).toEqual([{ name: "work" }]));
  expect(host.called("config.patch")).toEqual([{ patch: { providers: { work: { keySecret: null } } } }]);
});

test("provider without a key accepts a key", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Add key for work (m)" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Key"), "sk-9876543210");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(host.called("config.patch")).toEqual([{ patch: { providers: { work: { keySecret: "work" } } } }]),
  );
  expect(host.called("secrets.set")).toEqual([{ name: "work", value: "sk-9876543210", hosts: ["llm.example.com"] }]);
});

test("shared key keeps its hosts and adds the new one", async () => {
  const host = hostWith({ keySecret: "work", problem: "No key: the secret work goes to other.example alone." }, [
    { ...secret, hosts: ["other.example"] },
  ]);
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/goes to other\.example alone/)).toBeInTheDocument();
  expect(screen.queryByText(/Key stored as/)).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Replace key of work (m)" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Key"), "sk-9876543210");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(host.called("secrets.set")).toEqual([
      { name: "work", value: "sk-9876543210", hosts: ["other.example", "llm.example.com"] },
    ]),
  );
});
