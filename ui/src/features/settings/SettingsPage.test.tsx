import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { type ConfigView, errorCode, type ProviderView, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { renderApp } from "@/test/renderApp";

import { readExport } from "./importFile";
import { complaintAbout, patchFor, providerName } from "./patch";
import { providerPatch } from "./ProviderForm";

const ollama: ProviderView = { name: "ollama", label: "Ollama on this computer", kind: "openai", baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2", source: "local", keyEnv: null, problem: null };

function aConfig(parts: Partial<ConfigView> = {}): ConfigView {
  return {
    path: "/home/ada/config.toml", revision: "r1", cron: { enabled: true, maxConcurrentRuns: 2 }, heartbeat: { enabled: true, everyMs: 1_800_000 },
    model: { provider: null, name: null, providers: [] }, workspace: "/home/ada/Rouse", overridden: [], ...parts,
  };
}

function hostWith(config = aConfig(), providers: ProviderView[] = [ollama]) {
  return fakeHost({
    "config.get": () => config,
    "config.patch": () => config,
    "providers.list": () => ({ active: providers[0]?.name ?? null, providers }),
  });
}

test("a dotted name becomes a patch", () => {
  expect(patchFor("cron.enabled", false)).toEqual({ cron: { enabled: false } });
});

test("a complaint is shown in words, whatever came with it", () => {
  const error = new RpcError(errorCode.invalidParams, "cron.maxConcurrentRuns: must be between 1 and 64", { fields: [{ path: "cron.maxConcurrentRuns", message: "must be between 1 and 64" }] });
  expect(complaintAbout("cron.maxConcurrentRuns", error)).toBe("This must be between 1 and 64.");
  expect(complaintAbout("cron.enabled", new Error("The disk is full"))).toBe("The disk is full.");
});

test("a server is written under a name that the file takes, and without an empty variable", () => {
  expect(providerName(" My Workstation! ")).toBe("my-workstation");
  expect(providerPatch({ name: "My box", kind: "openai", baseUrl: " http://x/v1 ", model: "m", keyEnv: "" })).toEqual({ providers: { "my-box": { kind: "openai", baseUrl: "http://x/v1", model: "m" } } });
});

test("an import reads an export or a list, and says what else a file is", () => {
  expect(readExport('{"version":1,"jobs":[{"name":"a"}]}')).toEqual([{ name: "a" }]);
  expect(readExport('[{"name":"a"}]')).toHaveLength(1);
  expect(() => readExport("x")).toThrow("not JSON");
  expect(() => readExport("{}")).toThrow("no jobs");
});

test("a switch is saved at once and says so beside itself", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  host.answers["config.patch"] = () => aConfig({ cron: { enabled: false, maxConcurrentRuns: 2 } });
  await user.click(await screen.findByRole("switch", { name: "Let jobs fire" }));
  expect(host.called("config.patch")).toEqual([{ patch: { cron: { enabled: false } } }]);
  expect(await screen.findByText("Saved")).toBeInTheDocument();
});

test("a number is saved when the field is left, in the unit of the engine; a refusal stands beside it", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  const every = await screen.findByRole("textbox", { name: "Every" });
  host.answers["config.patch"] = () => Promise.reject(new RpcError(errorCode.invalidParams, "no", { fields: [{ path: "heartbeat.everyMs", message: "expected milliseconds, at least 60000" }] }));
  await user.clear(every);
  await user.type(every, "45");
  expect(host.called("config.patch")).toEqual([]);
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { everyMs: 2_700_000 } } }]));
  expect(await screen.findByText("Expected milliseconds, at least 60000.")).toBeInTheDocument();
});

test("what an environment variable decides says so and cannot be switched", async () => {
  renderApp("/settings", hostWith(aConfig({ overridden: [{ key: "cron.enabled", variable: "ROUSE_SKIP_CRON" }] })));
  expect(await screen.findByText("ROUSE_SKIP_CRON")).toBeInTheDocument();
  expect(screen.getByRole("switch", { name: "Let jobs fire" })).toBeDisabled();
});

test("a provider is chosen by its name", async () => {
  const host = hostWith(aConfig(), [ollama, { ...ollama, name: "lm", label: "LM Studio" }]);
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Use LM Studio" }));
  expect(host.called("config.patch")).toEqual([{ patch: { model: { provider: "lm" } } }]);
});

test("a key is not taken where its variable's name belongs", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: /Add a server/ }));
  await user.type(screen.getByRole("textbox", { name: "Variable that holds its key" }), "sk-abc123");
  await user.click(screen.getByRole("button", { name: "Add server" }));
  expect(await screen.findByText(/looks like a key/)).toBeInTheDocument();
  expect(host.called("config.patch")).toEqual([]);
});

test("a test notification tells its fate, also when that comes later", async () => {
  const delivery = { id: "d", runId: null, channel: "notification", title: "", body: "", state: "pending" as const, attempts: 0, reason: null, createdAtMs: 0, nextAttemptAtMs: null, settledAtMs: null };
  const host = hostWith();
  host.answers["deliveries.test"] = () => delivery;
  host.answers["deliveries.get"] = () => ({ ...delivery, state: "suppressed", reason: "There is no desktop here." });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Send a test" }));
  expect(await screen.findByText("There is no desktop here.")).toBeInTheDocument();
});

test("an import shows what would happen first, and brings in only what can be", async () => {
  const host = hostWith();
  host.answers["cron.import"] = ({ jobs }) => ({ lines: jobs.map((job) => ({ name: String(job.name), id: null, ok: job.name === "a", message: job.name === "a" ? null : "There is a job b already." })) });
  const { user } = renderApp("/settings", host);
  await screen.findByText("Import jobs");
  const input = document.querySelector<HTMLInputElement>("input[type=file]")!;
  const text = '{"jobs":[{"name":"a"},{"name":"b"}]}';
  // jsdom's files cannot be read as text.
  await user.upload(input, Object.assign(new File([text], "jobs.json", { type: "application/json" }), { text: () => Promise.resolve(text) }));
  const report = await screen.findByRole("dialog", { name: "Import from jobs.json" });
  expect(within(report).getByText(/There is a job b already/)).toBeInTheDocument();
  await user.click(within(report).getByRole("button", { name: "Import 1 job" }));
  await waitFor(() => expect(host.called("cron.import").at(-1)).toEqual({ jobs: [{ name: "a" }], keepEnabled: false }));
});

test("starting with the computer is not offered in a browser", async () => {
  renderApp("/settings", hostWith());
  await screen.findByText("Theme");
  expect(screen.queryByText("Start-up")).not.toBeInTheDocument();
});

test("starting with the computer is switched through the platform", async () => {
  const set = vi.fn(() => Promise.resolve());
  const inApp = { ...hostWith(), capabilities: { window: true, autostart: true }, autostart: { get: () => Promise.resolve(false), set } };
  const { user } = renderApp("/settings", inApp);
  await user.click(await screen.findByRole("switch", { name: "Start with the computer" }));
  expect(set).toHaveBeenCalledWith(true);
});
