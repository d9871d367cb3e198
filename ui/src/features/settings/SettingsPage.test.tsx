import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { type ConfigView, errorCode, type ProviderView, RpcError, type ShellInfo, type SkillView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aDelivery, aShell, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

import { maxBytes, readTextFile } from "./importFile";
import { settingError, settingPatch, providerName } from "./configPatch";
import { providerPatch } from "./ProviderForm";

const ollama: ProviderView = {
  name: "ollama",
  label: "Ollama on this computer",
  kind: "openai",
  baseUrl: "http://127.0.0.1:11434/v1",
  model: "llama3.2",
  source: "local",
  keyEnv: null,
  keySecret: null,
  problem: null,
  state: "answered",
  tests: [],
};

function hostWith(config = aConfig(), providers: ProviderView[] = [ollama]) {
  return fakeHost({
    "config.get": () => config,
    "config.patch": () => config,
    "providers.list": () => ({ active: providers[0]?.name ?? null, providers }),
  });
}

test("dotted name becomes a patch", () => {
  expect(settingPatch("cron.enabled", false)).toEqual({ cron: { enabled: false } });
});

test("setting error shows as text", () => {
  const error = new RpcError(errorCode.invalidParams, "cron.maxConcurrentRuns: must be between 1 and 64", {
    fields: [{ path: "cron.maxConcurrentRuns", message: "must be between 1 and 64" }],
  });
  expect(settingError("cron.maxConcurrentRuns", error)).toBe("This must be between 1 and 64.");
  expect(settingError("cron.enabled", new Error("The disk is full"))).toBe("The disk is full.");
});

test("provider patch uses a valid name without empty variable", () => {
  expect(providerName(" My Workstation! ")).toBe("my-workstation");
  expect(
    providerPatch({
      name: "My box",
      kind: "openai",
      baseUrl: " http://x/v1 ",
      model: "m",
      key: "",
      keyEnv: "",
      contextTokens: "",
    }),
  ).toEqual({ providers: { "my-box": { kind: "openai", baseUrl: "http://x/v1", model: "m" } } });
  expect(
    providerPatch({
      name: "b",
      kind: "openai",
      baseUrl: "http://x/v1",
      model: "m",
      key: "",
      keyEnv: "K",
      contextTokens: " 32000 ",
    }),
  ).toEqual({
    providers: { b: { kind: "openai", baseUrl: "http://x/v1", model: "m", keyEnv: "K", contextTokens: 32_000 } },
  });
});

/** jsdom's files cannot be read. */
function aFile(bytes: Uint8Array, name: string): File {
  return Object.assign(new File([], name), { arrayBuffer: () => Promise.resolve(bytes.buffer) });
}

test("file reads as UTF-8 or reports why not", async () => {
  expect(await readTextFile(aFile(new TextEncoder().encode("ä"), "a"))).toBe("ä");
  await expect(readTextFile(aFile(new Uint8Array([0xff, 0xfe]), "a"))).rejects.toThrow("not UTF-8");
  await expect(readTextFile(Object.defineProperty(new File([], "a"), "size", { value: maxBytes + 1 }))).rejects.toThrow(
    "larger than 8 MB",
  );
});

function inApp(shell: Partial<ShellInfo> = {}) {
  const host = { ...hostWith(), capabilities: { window: true, autostart: true } };
  host.shellInfo = () => Promise.resolve(aShell(shell));
  return host;
}

test("each section is in the index in page order", async () => {
  renderApp("/settings", inApp());
  const index = within(await screen.findByRole("navigation", { name: "Sections" }));
  const links = index.getAllByRole("link").map((link) => [link.getAttribute("href"), link.textContent]);
  const sections = [...document.querySelectorAll("main section[id]")].map((section) => [
    `/settings#${section.id}`,
    section.getAttribute("aria-label"),
  ]);
  expect(links).toEqual(sections);
  expect(links).toHaveLength(18);
});

test("section address scrolls once the section exists", async () => {
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  let answer: (config: ConfigView) => void = () => undefined;
  const host = hostWith();
  host.answers["config.get"] = () => new Promise((resolve) => (answer = resolve));
  const { user, history } = renderApp("/settings#scheduling", host);
  await screen.findByRole("heading", { name: "Settings", level: 1 });
  await waitFor(() => expect(host.called("config.get")).not.toEqual([]));
  expect(shown).not.toHaveBeenCalled();
  host.answers["config.get"] = () => aConfig();
  answer(aConfig());
  const section = await screen.findByRole("region", { name: "Scheduling" });
  expect(shown.mock.contexts).toContain(section);
  expect(section).toHaveFocus();
  await user.click(within(screen.getByRole("navigation", { name: "Sections" })).getByRole("link", { name: "Data" }));
  await waitFor(() => expect(screen.getByRole("region", { name: "Data" })).toHaveFocus());
  expect(history.location.hash).toBe("#data");
});

test("index marks the addressed section and scrolls again", async () => {
  const shown = vi.spyOn(Element.prototype, "scrollIntoView");
  const { user } = renderApp("/settings", hostWith());
  const index = within(await screen.findByRole("navigation", { name: "Sections" }));
  const link = index.getByRole("link", { name: "Secrets" });
  expect(index.queryByRole("link", { current: "page" })).not.toBeInTheDocument();
  await user.click(link);
  const section = await screen.findByRole("region", { name: "Secrets" });
  await waitFor(() => expect(section).toHaveFocus());
  expect(index.getByRole("link", { current: "page" })).toBe(link);
  expect(shown.mock.contexts, "along a row that is narrower than its links").toContain(link);
  shown.mockClear();
  await user.click(link);
  await waitFor(() => expect(section).toHaveFocus());
  expect(shown.mock.contexts, "by the page alone").toEqual([section]);
});

test("switch saves at once and confirms", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  host.answers["config.patch"] = () => aConfig({ cron: { enabled: false, maxConcurrentRuns: 2 } });
  await user.click(await screen.findByRole("switch", { name: "Run jobs on schedule" }));
  expect(host.called("config.patch")).toEqual([{ patch: { cron: { enabled: false } } }]);
  expect(await screen.findByText("Saved")).toBeInTheDocument();
});

test("number saves on blur in engine units and shows errors", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  const every = await screen.findByRole("textbox", { name: "Interval" });
  host.answers["config.patch"] = () =>
    Promise.reject(
      new RpcError(errorCode.invalidParams, "no", {
        fields: [{ path: "heartbeat.everyMs", message: "expected milliseconds, at least 60000" }],
      }),
    );
  await user.clear(every);
  await user.type(every, "45");
  expect(host.called("config.patch")).toEqual([]);
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { everyMs: 2_700_000 } } }]));
  expect(await screen.findByText("Expected milliseconds, at least 60000.")).toBeInTheDocument();
});

test("quiet hours toggle and show their nights", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  host.answers["config.patch"] = () => aConfig({ quietHours: { from: "22:00", to: "07:00", days: ["fri", "sat"] } });
  const toggle = await screen.findByRole("switch", { name: "Hold notifications" });
  await user.click(toggle);
  expect(host.called("config.patch")).toEqual([{ patch: { quietHours: { from: "22:00", to: "07:00" } } }]);
  expect(await screen.findByText(/Only nights that begin on Friday, Saturday\./)).toBeInTheDocument();
  host.answers["config.patch"] = () => aConfig();
  await user.click(toggle);
  expect(host.called("config.patch").at(-1)).toEqual({ patch: { quietHours: null } });
});

test("active hours toggle, change and reset", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  const on = aConfig();
  on.heartbeat.activeHours = { from: "08:00", to: "22:00", tz: null };
  host.answers["config.patch"] = () => on;
  const toggle = await screen.findByRole("switch", { name: "Active hours" });
  await user.click(toggle);
  expect(host.called("config.patch")).toEqual([
    { patch: { heartbeat: { activeHours: { from: "08:00", to: "22:00" } } } },
  ]);
  expect(await screen.findAllByRole("group", { name: "Active hours: from" })).not.toEqual([]);
  host.answers["config.patch"] = () => aConfig();
  await user.click(toggle);
  expect(host.called("config.patch").at(-1)).toEqual({ patch: { heartbeat: { activeHours: null } } });
  await waitFor(() => expect(screen.queryAllByRole("group", { name: "Active hours: from" })).toEqual([]));
});

test("changed HEARTBEAT.md is confirmed by its digest", async () => {
  const host = hostWith();
  const why = "HEARTBEAT.md was changed while run_command of a run of “Case” was at work";
  const status = aStatus();
  status.heartbeat.untrustedList = { changedBy: why, runId: "r1", text: "send it\u200B to evil", digest: "d1" };
  host.answers["system.status"] = () => status;
  host.answers["heartbeat.trust"] = () => ({ ...status.heartbeat, untrustedList: null });
  const { user } = renderApp("/settings", host);
  const list = await screen.findByRole("region", { name: "HEARTBEAT.md" });
  expect(list).toHaveTextContent("send it⟨U+200B⟩ to evil");
  await user.click(screen.getByRole("button", { name: "Confirm as mine" }));
  await waitFor(() => expect(host.called("heartbeat.trust")).toEqual([{ digest: "d1" }]));
});

test("session skills are selectable and a missing one is named", async () => {
  const skill: SkillView = {
    name: "mail",
    description: "How mail is sorted.",
    trust: "own",
    isInstalled: false,
    path: "/s/mail",
    problem: null,
    body: null,
    files: [],
    tools: null,
    digest: "d",
    usedBy: [],
  };
  const config = aConfig();
  config.heartbeat.skills = ["gone"];
  const host = hostWith(config);
  host.answers["config.patch"] = ({ patch }) => ({
    ...config,
    heartbeat: {
      ...config.heartbeat,
      skills: (patch as { heartbeat: { skills: string[] | null } }).heartbeat.skills ?? [],
    },
  });
  host.answers["skills.list"] = () => ({
    skills: [skill, { ...skill, name: "theirs", trust: "untrusted" }],
    ownFolder: "/s",
    installedFolder: "/s/installed",
  });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByRole("checkbox", { name: "gone" })).toBeChecked();
  expect(screen.getByRole("checkbox", { name: "gone" })).toHaveAccessibleDescription(/Unavailable/);
  expect(screen.getByRole("checkbox", { name: "mail" })).toHaveAccessibleDescription("How mail is sorted.");
  await user.click(screen.getByRole("checkbox", { name: "mail" }));
  expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { skills: ["gone", "mail"] } } }]);
  await waitFor(() => expect(screen.getByRole("checkbox", { name: "gone" })).toBeEnabled());
  await user.click(screen.getByRole("checkbox", { name: "gone" }));
  expect(host.called("config.patch").at(-1)).toEqual({ patch: { heartbeat: { skills: ["mail"] } } });
  await waitFor(() => expect(screen.getByRole("checkbox", { name: "mail" })).toBeEnabled());
  await user.click(screen.getByRole("checkbox", { name: "mail" }));
  expect(host.called("config.patch").at(-1)).toEqual({ patch: { heartbeat: { skills: null } } });
});

test("missing skills show the skills folder", async () => {
  renderApp("/settings", hostWith());
  expect(
    await screen.findByText(/^No skills yet. Add one folder per skill to \/home\/ada\/skills/),
  ).toBeInTheDocument();
});

test("heartbeat prompt saves on blur and empty removes it", async () => {
  const config = aConfig();
  config.heartbeat.prompt = "Be brief.";
  const host = hostWith(config);
  const { user } = renderApp("/settings", host);
  const field = await screen.findByRole("textbox", { name: "Custom instructions" });
  await user.clear(field);
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { prompt: null } } }]));
});

test("environment override disables the setting", async () => {
  renderApp("/settings", hostWith(aConfig({ overridden: [{ key: "cron.enabled", variable: "ROUSE_SKIP_CRON" }] })));
  expect(await screen.findByText("ROUSE_SKIP_CRON")).toBeInTheDocument();
  expect(screen.getByRole("switch", { name: "Run jobs on schedule" })).toBeDisabled();
});

test("provider is chosen by name", async () => {
  const host = hostWith(aConfig(), [ollama, { ...ollama, name: "lm", label: "LM Studio" }]);
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Use LM Studio" }));
  expect(host.called("config.patch")).toEqual([{ patch: { model: { provider: "lm" } } }]);
});

test("environment provider shows its key variable", async () => {
  renderApp(
    "/settings",
    hostWith(aConfig(), [
      {
        ...ollama,
        name: "anthropic",
        label: "Anthropic",
        baseUrl: "https://api.anthropic.com",
        source: "environment",
        keyEnv: "ANTHROPIC_API_KEY",
      },
    ]),
  );
  const provider = (await screen.findByRole("heading", { name: "Anthropic" })).parentElement;
  expect(provider).toHaveTextContent("found in the environment · key from environment variable ANTHROPIC_API_KEY");
});

test("key is rejected as a variable name", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: /Add provider manually/ }));
  await user.type(screen.getByRole("textbox", { name: "Key variable" }), "sk-abc123");
  await user.click(screen.getByRole("button", { name: "Add provider" }));
  expect(await screen.findByText(/looks like a key/)).toBeInTheDocument();
  expect(host.called("config.patch")).toEqual([]);
});

test("empty model name explains its default", async () => {
  const host = hostWith(aConfig(), [{ ...ollama, name: "box", label: "My box", source: "config" }]);
  renderApp("/settings", host);
  expect(await screen.findByText("[default: the model you added with the provider]")).toBeInTheDocument();
  host.answers["providers.list"] = () => ({ active: "ollama", providers: [ollama] });
  host.emit("config", {});
  expect(await screen.findByText("[default: the provider’s first model]")).toBeInTheDocument();
});

test("heartbeat without a model shows the wait", async () => {
  const host = hostWith();
  const status = aStatus();
  status.heartbeat.lastSkipReason = "No model is set up";
  host.answers["system.status"] = () => status;
  renderApp("/settings", host);
  expect(
    await within(await screen.findByRole("region", { name: "Heartbeat" })).findByText("Waiting for a model."),
  ).toBeInTheDocument();
  expect(screen.queryByText("No model is set up")).not.toBeInTheDocument();
});

test.each([
  ["skipped", { pause: { untilMs: null } }, /Next one skipped: paused\./],
  ["counted down to", { pause: null }, /Next: .*\d/],
])("next heartbeat shows %s", async (_, cron, words) => {
  const host = hostWith();
  const { heartbeat } = aStatus();
  host.answers["system.status"] = () => aStatus({ cron, heartbeat: { ...heartbeat, nextAtMs: Date.now() + 65_000 } });
  renderApp("/settings", host);
  const section = await screen.findByRole("region", { name: "Heartbeat" });
  await waitFor(() => expect(section).toHaveTextContent(words));
});

test("test notification shows its outcome, also a later one", async () => {
  const delivery = aDelivery({ runId: null });
  const host = hostWith();
  host.answers["deliveries.test"] = () => delivery;
  host.answers["deliveries.get"] = () => ({ ...delivery, state: "suppressed", reason: "There is no desktop here." });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Send test" }));
  expect(await screen.findByText("There is no desktop here.")).toBeInTheDocument();
});

test("test is offered unless there is no desktop", async () => {
  const host = hostWith();
  const reason = "Rouse runs without a desktop here, so it shows no notifications.";
  host.answers["system.status"] = () => aStatus({ notifications: { available: false, reason, failing: false } });
  renderApp("/settings", host);
  expect(await screen.findByText(reason)).toBeInTheDocument();
  const button = screen.getByRole("button", { name: "Send test" });
  expect(button).toBeDisabled();
  host.answers["system.status"] = () =>
    aStatus({ notifications: { available: false, reason: "No notification service runs here.", failing: true } });
  host.emit("config", { screens: 1 });
  await waitFor(() => expect(button).toBeEnabled());
});

test("export shows its path if known", async () => {
  const host = hostWith();
  host.answers["cron.export"] = () => ({ format: "rouse", version: 1, jobs: [] });
  host.saveFile = vi.fn(() => Promise.resolve("/home/ada/Downloads/rouse-jobs.json"));
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Export" }));
  expect(await screen.findByText("/home/ada/Downloads/rouse-jobs.json")).toBeInTheDocument();
  expect(host.saveFile).toHaveBeenCalledWith(
    "rouse-jobs.json",
    '{\n  "format": "rouse",\n  "version": 1,\n  "jobs": []\n}\n',
  );
});

test("retention shows and can be changed", async () => {
  const host = hostWith();
  host.answers["system.storage"] = () => ({
    usedBytes: 12_400_000,
    freeBytes: 0,
    runs: 842,
    oldestRunAtMs: null,
    messages: 3,
  });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/12\.4 MB with 842 runs and 3 messages/)).toBeInTheDocument();
  const field = screen.getByRole("textbox", { name: "Runs per job" });
  await user.clear(field);
  await user.type(field, "500");
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { retention: { runsPerJob: 500 } } }]));
});

test("backups are listed and created on request", async () => {
  const host = hostWith();
  const backup = {
    path: "/home/ada/backups/rouse-2026-11-28.tar.gz",
    madeAtMs: 1_795_262_400_000,
    bytes: 240_000,
    omittedFiles: 2,
  };
  const backups: (typeof backup)[] = [];
  host.answers["backup.list"] = () => ({ folder: "/home/ada/backups", backups });
  host.answers["backup.create"] = () => {
    backups.push(backup);
    return backup;
  };
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/None yet\./)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Back up now" }));
  expect(await screen.findByText("rouse-2026-11-28.tar.gz")).toBeInTheDocument();
  expect(screen.getByText(/2 large or surplus files omitted/)).toBeInTheDocument();
  expect(host.called("backup.create")).toEqual([{}]);
});

test("starting with the computer is not offered in a browser", async () => {
  renderApp("/settings", hostWith());
  await screen.findByText("Theme");
  expect(screen.queryByText("Start-up")).not.toBeInTheDocument();
});

test("starting with the computer is switched through the platform", async () => {
  const set = vi.fn(() => Promise.resolve());
  const host = { ...inApp(), autostart: { get: () => Promise.resolve(false), set } };
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("switch", { name: "Start at login" }));
  expect(set).toHaveBeenCalledWith(true);
});

test("pages of another computer do not offer to start at login", async () => {
  renderApp("/settings", inApp({ engine: "anotherComputer", computer: "box" }));
  await screen.findByText("Theme");
  expect(screen.queryByText("Start-up")).not.toBeInTheDocument();
});

test("secret saves with hosts, stays hidden and removal asks", async () => {
  const github = {
    name: "github",
    hosts: ["api.github.com"],
    servers: ["github"],
    setAtMs: Date.now(),
    storedIn: "keyring" as const,
    problem: null,
    warning: "It has fewer than 8 characters.",
  };
  let secrets: (typeof github)[] = [];
  const host = hostWith();
  host.answers["secrets.list"] = () => ({ secrets, warning: null });
  host.answers["secrets.set"] = () => {
    secrets = [github];
    return github;
  };
  host.answers["secrets.remove"] = () => ({
    changed: true,
    manualCleanup: "The system's keyring showed no value of it.",
  });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Add secret" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Add secret" }));
  await user.type(dialog.getByRole("textbox", { name: "Name" }), "github");
  expect(dialog.getByLabelText("Value")).toHaveAttribute("type", "password");
  await user.type(dialog.getByLabelText("Value"), "not for the page");
  await user.type(dialog.getByRole("textbox", { name: "Hosts" }), "api.github.com");
  await user.type(dialog.getByRole("textbox", { name: "MCP servers" }), "github");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(host.called("secrets.set")).toEqual([
      { name: "github", value: "not for the page", hosts: ["api.github.com"], servers: ["github"] },
    ]),
  );
  expect(await screen.findByText(/^Sent to api\.github\.com and the MCP server github only/)).toBeInTheDocument();
  expect(screen.getByText("It has fewer than 8 characters.")).toBeInTheDocument();
  expect(document.body.textContent).not.toContain("not for the page");

  await user.click(screen.getByRole("button", { name: "Remove github" }));
  const question = within(await screen.findByRole("alertdialog"));
  expect(host.called("secrets.remove")).toEqual([]);
  await user.click(question.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(host.called("secrets.remove")).toEqual([{ name: "github" }]));
  expect(
    await screen.findByText(/“github” was removed. The system's keyring showed no value of it./),
  ).toBeInTheDocument();
});

test("hooks show calls, timeout and last failure", async () => {
  const host = hostWith();
  const last = { atMs: Date.now() - 60_000, durationMs: 12, problem: null };
  host.answers["hooks.list"] = () => ({
    hooks: [
      {
        on: "before_tool_call",
        isConsulted: true,
        command: ["/bin/guard", "a b"],
        timeoutMs: 5_000,
        calls: 3,
        failures: 1,
        last: { ...last, problem: "it took longer than 5s" },
      },
      {
        on: "run_finished",
        isConsulted: false,
        command: ["logger"],
        timeoutMs: 10_000,
        calls: 0,
        failures: 0,
        last: null,
      },
    ],
  });
  const { user } = renderApp("/settings", host);
  const hooks = within(await screen.findByRole("region", { name: "Hooks" }));
  expect(await hooks.findByRole("heading", { name: "Before a tool call" })).toBeInTheDocument();
  expect(hooks.getByText('/bin/guard "a b"')).toBeInTheDocument();
  expect(hooks.getByText(/^Consulted, timeout 5 s/)).toHaveTextContent(/3 calls, 1 failed · last .* ago, took 12 ms/);
  expect(hooks.getByText("Last call failed: it took longer than 5s")).toBeInTheDocument();
  expect(hooks.getByText(/^Notified, timeout 10 s/)).toHaveTextContent("not called since start");
  await user.click(hooks.getByRole("button", { name: /^Add a hook/ }));
  expect(hooks.getByText("/home/ada/config.toml")).toBeVisible();
  expect(hooks.getByRole("region", { name: "Hook example" })).toHaveTextContent("[[hooks]]");
});

test("invalid settings file shows its error", async () => {
  renderApp("/settings", hostWith(aConfig({ changedByHand: true, problem: "config.toml is not valid TOML: line 3" })));
  expect(await screen.findByRole("alert")).toHaveTextContent("config.toml is not valid TOML: line 3");
});

test("unknown key shows its place and suggestion", async () => {
  const text = "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?";
  renderApp(
    "/settings",
    hostWith(aConfig({ unknownKeys: [{ key: "heartbeat.evry", line: 3, nearest: "heartbeat.every", text }] })),
  );
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("Unknown keys in /home/ada/config.toml:");
  expect(alert).toHaveTextContent(text);
});

test("missing provider and restart settings show", async () => {
  const text = "model.provider (line 2): there is no [providers.wrk]; did you mean work?";
  renderApp(
    "/settings",
    hostWith(aConfig({ unmetSettings: [{ key: "model.provider", line: 2, text }], pendingRestart: ["workspace"] })),
  );
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("/home/ada/config.toml refers to missing items:");
  expect(alert).toHaveTextContent(text);
  expect(screen.getByText("Takes effect after a restart: workspace.")).toBeInTheDocument();
});

test("edited settings file asks for a restart", async () => {
  renderApp("/settings", hostWith(aConfig({ changedByHand: true })));
  expect(await screen.findByText(/Restart Rouse/)).toBeInTheDocument();
});

test("daily budget can be set and removed beside spending", async () => {
  const host = hostWith(
    aConfig({
      budget: { tokensPerDay: 5_000, usdPerDay: null },
      prices: { listedOn: "2026-10-07", own: [{ model: "m", input: 1, cached: null, output: 2 }] },
    }),
  );
  host.answers["spending.get"] = () => ({
    today: { tokens: 1_200, costMicroUsd: 420_000, unpricedTokens: 200 },
    month: { tokens: 40_000, costMicroUsd: 0, unpricedTokens: 40_000 },
    dayEndsAtMs: Date.now() + 3_600_000,
    tokensPerDay: 5_000,
    usdPerDay: null,
  });
  const { user } = renderApp("/settings", host);
  expect(
    await screen.findByText(
      /Today \$0\.420, 1\.2k tokens, 200 of them without a known price, this month 40k tokens, price unknown/,
    ),
  ).toBeInTheDocument();
  expect(
    screen.getByText(/List prices as of 2026-10-07\. 1 price overridden in the settings file\./),
  ).toBeInTheDocument();
  const dollars = screen.getByRole("textbox", { name: "USD per day" });
  await user.type(dollars, "2.5{Enter}");
  await waitFor(() =>
    expect(host.called("config.patch")).toContainEqual(
      expect.objectContaining({ patch: { budget: { usdPerDay: 2.5 } } }),
    ),
  );
  const tokens = screen.getByRole("textbox", { name: "Tokens per day" });
  expect(tokens).toHaveValue("5,000");
  await user.clear(tokens);
  await user.tab();
  await waitFor(() =>
    expect(host.called("config.patch")).toContainEqual(
      expect.objectContaining({ patch: { budget: { tokensPerDay: null } } }),
    ),
  );
});
