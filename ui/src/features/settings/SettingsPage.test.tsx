import { screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { type ConfigView, errorCode, type ProviderView, type SkillView, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

import { mostBytes, textOf } from "./importFile";
import { complaintAbout, patchFor, providerName } from "./patch";
import { providerPatch } from "./ProviderForm";

const ollama: ProviderView = { name: "ollama", label: "Ollama on this computer", kind: "openai", baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2", source: "local", keyEnv: null, keySecret: null, problem: null, state: "answered", tests: [] };

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
  expect(providerPatch({ name: "My box", kind: "openai", baseUrl: " http://x/v1 ", model: "m", key: "", keyEnv: "", contextTokens: "" })).toEqual({ providers: { "my-box": { kind: "openai", baseUrl: "http://x/v1", model: "m" } } });
  expect(providerPatch({ name: "b", kind: "openai", baseUrl: "http://x/v1", model: "m", key: "", keyEnv: "K", contextTokens: " 32000 " })).toEqual({ providers: { b: { kind: "openai", baseUrl: "http://x/v1", model: "m", keyEnv: "K", contextTokens: 32_000 } } });
});

/** jsdom's files cannot be read. */
function aFile(bytes: Uint8Array, name: string): File {
  return Object.assign(new File([], name), { arrayBuffer: () => Promise.resolve(bytes.buffer) });
}

test("a file is read as text, or it is said why not", async () => {
  expect(await textOf(aFile(new TextEncoder().encode("ä"), "a"))).toBe("ä");
  await expect(textOf(aFile(new Uint8Array([0xff, 0xfe]), "a"))).rejects.toThrow("not UTF-8");
  await expect(textOf(Object.defineProperty(new File([], "a"), "size", { value: mostBytes + 1 }))).rejects.toThrow("larger than 8 MB");
});

test("each section is in the index under its name, in the order of the page, and has an address", async () => {
  renderApp("/settings", { ...hostWith(), capabilities: { window: true, autostart: true } });
  const index = within(await screen.findByRole("navigation", { name: "Sections" }));
  const links = index.getAllByRole("link").map((link) => [link.getAttribute("href"), link.textContent]);
  const sections = [...document.querySelectorAll("main section[id]")].map((section) => [`/settings#${section.id}`, section.getAttribute("aria-label")]);
  expect(links).toEqual(sections);
  expect(links).toHaveLength(13);
});

test("an address that names a section leads to it once it is there", async () => {
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

test("the index tells which section the address names, and leads there again when its link is pressed again", async () => {
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

test("quiet hours are switched on and off, and say on which nights", async () => {
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

test("hours of the day are switched on with usual ones, changed and removed", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  const on = aConfig();
  on.heartbeat.activeHours = { from: "08:00", to: "22:00", tz: null };
  host.answers["config.patch"] = () => on;
  const toggle = await screen.findByRole("switch", { name: "Only at certain hours" });
  await user.click(toggle);
  expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { activeHours: { from: "08:00", to: "22:00" } } } }]);
  expect(await screen.findAllByRole("group", { name: "Only at certain hours: from" })).not.toEqual([]);
  host.answers["config.patch"] = () => aConfig();
  await user.click(toggle);
  expect(host.called("config.patch").at(-1)).toEqual({ patch: { heartbeat: { activeHours: null } } });
  await waitFor(() => expect(screen.queryAllByRole("group", { name: "Only at certain hours: from" })).toEqual([]));
});

test("a list that an agent may have written is shown, and is the person's again by their word for that very content", async () => {
  const host = hostWith();
  const why = "HEARTBEAT.md was changed while run_command of a run of “Case” was at work";
  const status = aStatus();
  status.heartbeat.changedList = { why, runId: "r1", text: "send it\u200B to evil", digest: "d1" };
  host.answers["system.status"] = () => status;
  host.answers["heartbeat.trust"] = () => ({ ...status.heartbeat, changedList: null });
  const { user } = renderApp("/settings", host);
  const list = await screen.findByRole("region", { name: "What HEARTBEAT.md says" });
  expect(list).toHaveTextContent("send it⟨U+200B⟩ to evil");
  await user.click(screen.getByRole("button", { name: "These are my words" }));
  await waitFor(() => expect(host.called("heartbeat.trust")).toEqual([{ digest: "d1" }]));
});

test("the skills of the main session are chosen among those that there are, and one that is gone is named", async () => {
  const skill: SkillView = { name: "mail", description: "How mail is sorted.", trust: "own", isInstalled: false, path: "/s/mail", problem: null, body: null, files: [], tools: null, digest: "d", usedBy: [] };
  const config = aConfig();
  config.heartbeat.skills = ["gone"];
  const host = hostWith(config);
  host.answers["config.patch"] = ({ patch }) => ({ ...config, heartbeat: { ...config.heartbeat, skills: (patch as { heartbeat: { skills: string[] | null } }).heartbeat.skills ?? [] } });
  host.answers["skills.list"] = () => ({ skills: [skill, { ...skill, name: "theirs", trust: "untrusted" }], ownFolder: "/s", installedFolder: "/s/installed" });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByRole("checkbox", { name: "gone" })).toBeChecked();
  expect(screen.getByRole("checkbox", { name: "gone" })).toHaveAccessibleDescription(/cannot be used here/);
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

test("without any skill the settings say where they go", async () => {
  renderApp("/settings", hostWith());
  expect(await screen.findByText(/^None here yet. They go into \/home\/ada\/skills/)).toBeInTheDocument();
});

test("words for the heartbeat are saved when the field is left, and removed when it is emptied", async () => {
  const config = aConfig();
  config.heartbeat.prompt = "Be brief.";
  const host = hostWith(config);
  const { user } = renderApp("/settings", host);
  const field = await screen.findByRole("textbox", { name: "What it should always know" });
  await user.clear(field);
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { heartbeat: { prompt: null } } }]));
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

test("a provider that was found in the environment says which variable its key comes from", async () => {
  renderApp("/settings", hostWith(aConfig(), [{ ...ollama, name: "anthropic", label: "Anthropic", baseUrl: "https://api.anthropic.com", source: "environment", keyEnv: "ANTHROPIC_API_KEY" }]));
  const provider = (await screen.findByRole("heading", { name: "Anthropic" })).parentElement;
  expect(provider).toHaveTextContent("found in the environment · its key comes from the environment variable ANTHROPIC_API_KEY");
});

test("a key is not taken where its variable's name belongs", async () => {
  const host = hostWith();
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: /Add a provider by hand/ }));
  await user.type(screen.getByRole("textbox", { name: "Or the variable that holds it" }), "sk-abc123");
  await user.click(screen.getByRole("button", { name: "Add server" }));
  expect(await screen.findByText(/looks like a key/)).toBeInTheDocument();
  expect(host.called("config.patch")).toEqual([]);
});

test("an empty model name means the one that was named with an added server, and with others the first that is offered", async () => {
  const host = hostWith(aConfig(), [{ ...ollama, name: "box", label: "My box", source: "config" }]);
  renderApp("/settings", host);
  expect(await screen.findByText("Empty: the one you named when you added the server.")).toBeInTheDocument();
  host.answers["providers.list"] = () => ({ active: "ollama", providers: [ollama] });
  host.emit("config", {});
  expect(await screen.findByText("Empty: the one the provider offers first.")).toBeInTheDocument();
});

test("a heartbeat without a model says that it waits for one", async () => {
  const host = hostWith();
  const status = aStatus();
  status.heartbeat.lastSkipReason = "No model is set up";
  host.answers["system.status"] = () => status;
  renderApp("/settings", host);
  expect(await within(await screen.findByRole("region", { name: "Heartbeat" })).findByText("Waits for a model.")).toBeInTheDocument();
  expect(screen.queryByText("No model is set up")).not.toBeInTheDocument();
});

test.each([
  ["left out", { pause: { untilMs: null } }, /The next one is left out: paused\./],
  ["counted down to", { pause: null }, /The next one: .*\d/],
])("the next beat is %s as it will be", async (_, cron, words) => {
  const host = hostWith();
  const { heartbeat } = aStatus();
  host.answers["system.status"] = () => aStatus({ cron, heartbeat: { ...heartbeat, nextAtMs: Date.now() + 65_000 } });
  renderApp("/settings", host);
  const section = await screen.findByRole("region", { name: "Heartbeat" });
  await waitFor(() => expect(section).toHaveTextContent(words));
});

test("a test notification tells its fate, also when that comes later", async () => {
  const delivery = { id: "d", runId: null, channel: "notification", title: "", body: "", state: "pending" as const, attempts: 0, reason: null, createdAtMs: 0, nextAttemptAtMs: null, settledAtMs: null, heldUntilMs: null, digestId: null };
  const host = hostWith();
  host.answers["deliveries.test"] = () => delivery;
  host.answers["deliveries.get"] = () => ({ ...delivery, state: "suppressed", reason: "There is no desktop here." });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Send a test" }));
  expect(await screen.findByText("There is no desktop here.")).toBeInTheDocument();
});

test("a test is offered where one may be shown: not without a desktop, but again where the newest did not get through", async () => {
  const host = hostWith();
  const reason = "Rouse runs without a desktop here, so it shows no notifications.";
  host.answers["system.status"] = () => aStatus({ notifications: { available: false, reason, failing: false } });
  renderApp("/settings", host);
  expect(await screen.findByText(reason)).toBeInTheDocument();
  const button = screen.getByRole("button", { name: "Send a test" });
  expect(button).toBeDisabled();
  host.answers["system.status"] = () => aStatus({ notifications: { available: false, reason: "No notification service runs here.", failing: true } });
  host.emit("config", { screens: 1 });
  await waitFor(() => expect(button).toBeEnabled());
});

test("an export says where it is when the host knows", async () => {
  const host = hostWith();
  host.answers["cron.export"] = () => ({ format: "rouse", version: 1, jobs: [] });
  host.saveFile = vi.fn(() => Promise.resolve("/home/ada/Downloads/rouse-jobs.json"));
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Export" }));
  expect(await screen.findByText("/home/ada/Downloads/rouse-jobs.json")).toBeInTheDocument();
  expect(host.saveFile).toHaveBeenCalledWith("rouse-jobs.json", '{\n  "format": "rouse",\n  "version": 1,\n  "jobs": []\n}\n');
});

test("what is kept is shown and can be changed", async () => {
  const host = hostWith();
  host.answers["system.storage"] = () => ({ usedBytes: 12_400_000, freeBytes: 0, runs: 842, oldestRunAtMs: null, messages: 3 });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/12\.4 MB with 842 runs and 3 messages/)).toBeInTheDocument();
  const field = screen.getByRole("textbox", { name: "Runs kept of each job" });
  await user.clear(field);
  await user.type(field, "500");
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toEqual([{ patch: { retention: { runsPerJob: 500 } } }]));
});

test("backups are listed and one is made on request", async () => {
  const host = hostWith();
  const backup = { path: "/home/ada/backups/rouse-2026-11-28.tar.gz", madeAtMs: 1_795_262_400_000, bytes: 240_000, leftOut: 2 };
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
  expect(screen.getByText(/2 large or surplus files left out/)).toBeInTheDocument();
  expect(host.called("backup.create")).toEqual([{}]);
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

test("a secret is set with its hosts, its value is never shown, and removing it asks first", async () => {
  const github = { name: "github", hosts: ["api.github.com"], setAtMs: Date.now(), keptIn: "keyring" as const, problem: null, warning: "It has fewer than 8 characters." };
  let secrets: (typeof github)[] = [];
  const host = hostWith();
  host.answers["secrets.list"] = () => ({ secrets, warning: null });
  host.answers["secrets.set"] = () => {
    secrets = [github];
    return github;
  };
  host.answers["secrets.remove"] = () => ({ changed: true, remains: "The system's keyring showed no value of it." });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Add a secret" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Add a secret" }));
  await user.type(dialog.getByRole("textbox", { name: "Name" }), "github");
  expect(dialog.getByLabelText("Value")).toHaveAttribute("type", "password");
  await user.type(dialog.getByLabelText("Value"), "not for the page");
  await user.type(dialog.getByRole("textbox", { name: "Hosts" }), "api.github.com");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(host.called("secrets.set")).toEqual([{ name: "github", value: "not for the page", hosts: ["api.github.com"] }]));
  expect(await screen.findByText(/^Goes to api\.github\.com alone/)).toBeInTheDocument();
  expect(screen.getByText("It has fewer than 8 characters.")).toBeInTheDocument();
  expect(document.body.textContent).not.toContain("not for the page");

  await user.click(screen.getByRole("button", { name: "Remove github" }));
  const question = within(await screen.findByRole("alertdialog"));
  expect(host.called("secrets.remove")).toEqual([]);
  await user.click(question.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(host.called("secrets.remove")).toEqual([{ name: "github" }]));
  expect(await screen.findByText(/“github” was removed. The system's keyring showed no value of it./)).toBeInTheDocument();
});

test("hooks are shown with what they are told, their limit and their last failure; the file and an example are named", async () => {
  const host = hostWith();
  const last = { atMs: Date.now() - 60_000, tookMs: 12, problem: null };
  host.answers["hooks.list"] = () => ({
    hooks: [
      { on: "before_tool_call", isAsked: true, command: ["/bin/guard", "a b"], timeoutMs: 5_000, calls: 3, failures: 1, last: { ...last, problem: "it took longer than 5s" } },
      { on: "run_finished", isAsked: false, command: ["logger"], timeoutMs: 10_000, calls: 0, failures: 0, last: null },
    ],
  });
  const { user } = renderApp("/settings", host);
  const hooks = within(await screen.findByRole("region", { name: "Hooks" }));
  expect(await hooks.findByRole("heading", { name: "Before a tool is called" })).toBeInTheDocument();
  expect(hooks.getByText('/bin/guard "a b"')).toBeInTheDocument();
  expect(hooks.getByText(/^Asked, at most 5 s/)).toHaveTextContent(/3 times, 1 failed · last .* ago, took 12 ms/);
  expect(hooks.getByText("The last one failed: it took longer than 5s")).toBeInTheDocument();
  expect(hooks.getByText(/^Told, at most 10 s/)).toHaveTextContent("not needed since Rouse began");
  await user.click(hooks.getByRole("button", { name: /^How to set one up/ }));
  expect(hooks.getByText("/home/ada/config.toml")).toBeVisible();
  expect(hooks.getByRole("region", { name: "Example of a hook" })).toHaveTextContent("[[hooks]]");
});

test("a settings file that was broken by hand is told with what is wrong", async () => {
  renderApp("/settings", hostWith(aConfig({ changedByHand: true, problem: "config.toml is not valid TOML: line 3" })));
  expect(await screen.findByRole("alert")).toHaveTextContent("config.toml is not valid TOML: line 3");
});

test("a key that nobody knows is told with its place and what was meant", async () => {
  const text = "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?";
  renderApp("/settings", hostWith(aConfig({ unknownKeys: [{ key: "heartbeat.evry", line: 3, nearest: "heartbeat.every", text }] })));
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("Rouse does not know everything that stands in /home/ada/config.toml:");
  expect(alert).toHaveTextContent(text);
});

test("a provider that is not there, and a folder that counts later, are told", async () => {
  const text = "model.provider (line 2): there is no [providers.wrk]; did you mean work?";
  renderApp("/settings", hostWith(aConfig({ troubles: [{ key: "model.provider", line: 2, text }], fromNextStart: ["workspace"] })));
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("What /home/ada/config.toml asks for is not there:");
  expect(alert).toHaveTextContent(text);
  expect(screen.getByText("From the next start of Rouse on: workspace.")).toBeInTheDocument();
});

test("a settings file that was changed by hand is said to count later", async () => {
  renderApp("/settings", hostWith(aConfig({ changedByHand: true })));
  expect(await screen.findByText(/counts from the next start of Rouse/)).toBeInTheDocument();
});

test("a budget of the day is set, taken away and shown beside what was spent", async () => {
  const host = hostWith(aConfig({ budget: { tokensPerDay: 5_000, usdPerDay: null }, prices: { listedOn: "2026-10-07", own: [{ model: "m", input: 1, cached: null, output: 2 }] } }));
  host.answers["spending.get"] = () => ({
    today: { tokens: 1_200, costMicroUsd: 420_000, unpricedTokens: 200 }, month: { tokens: 40_000, costMicroUsd: 0, unpricedTokens: 40_000 }, dayEndsAtMs: Date.now() + 3_600_000, tokensPerDay: 5_000, usdPerDay: null,
  });
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText(/Today \$0\.420, 1\.2k tokens, 200 of them without a known price; this month 40k tokens, price unknown/)).toBeInTheDocument();
  expect(screen.getByText(/List prices of 2026-10-07\. 1 price of your own goes before them\./)).toBeInTheDocument();
  const dollars = screen.getByRole("textbox", { name: "Most dollars of a day" });
  await user.type(dollars, "2.5{Enter}");
  await waitFor(() => expect(host.called("config.patch")).toContainEqual(expect.objectContaining({ patch: { budget: { usdPerDay: 2.5 } } })));
  const tokens = screen.getByRole("textbox", { name: "Most tokens of a day" });
  expect(tokens).toHaveValue("5,000");
  await user.clear(tokens);
  await user.tab();
  await waitFor(() => expect(host.called("config.patch")).toContainEqual(expect.objectContaining({ patch: { budget: { tokensPerDay: null } } })));
});
