import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { errorCode, type ModelTestView, type PullView, type ProviderView, RpcError } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

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

test("failing model in use shows so and other models do not count", async () => {
  const other = {
    provider: "ollama",
    model: "qwen3",
    sinceMs: Date.now(),
    message: "It is asleep.",
    fix: "Start Ollama.",
    keyEnv: null,
  };
  const host = fakeHost({
    "config.get": () => aConfig(),
    "providers.list": () => ({ active: "ollama", providers: [ollama] }),
  });
  host.answers["system.status"] = () => aStatus({ failingModels: [other] });
  renderApp("/settings", host);
  expect(await screen.findByText("In use")).toBeInTheDocument();
  host.answers["system.status"] = () =>
    aStatus({ failingModels: [other, { ...other, model: "llama3.2", message: "Nothing listens there.\nat all" }] });
  host.emit("config", {});
  expect(await screen.findByText("Not responding")).toBeInTheDocument();
  expect(screen.queryByText("In use")).not.toBeInTheDocument();
  expect(screen.getByText(/^Not responding since/)).toHaveTextContent(/: Nothing listens there\.$/);
  expect(screen.getByText("Start Ollama.")).toBeInTheDocument();
});

test("untested provider is not shown as in use", async () => {
  const tests: ModelTestView[] = [
    {
      provider: "ollama",
      model: "llama3.2",
      verdict: "noToolCall",
      message: "Answers, but did not call a tool.",
      atMs: Date.now(),
      tokens: 300,
    },
  ];
  const host = fakeHost({
    "config.get": () => aConfig(),
    "providers.list": () => ({ active: "ollama", providers: [{ ...ollama, state: "untried" }] }),
  });
  host.answers["models.test"] = () => {
    host.answers["providers.list"] = () => ({ active: "ollama", providers: [{ ...ollama, tests }] });
    return tests[0]!;
  };
  const { user } = renderApp("/settings", host);
  expect(await screen.findByText("Untested")).toBeInTheDocument();
  expect(screen.queryByText("In use")).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Test llama3.2 of ollama" }));
  expect(await screen.findByText("In use")).toBeInTheDocument();
  expect(host.called("models.test")).toEqual([{ provider: "ollama", model: "llama3.2" }]);
  expect(screen.getByText("No tool calls").parentElement).toHaveTextContent(
    /Answers, but did not call a tool\. Tested/,
  );
});

const presets = [
  {
    name: "openai",
    title: "OpenAI",
    kind: "openai",
    baseUrl: "https://api.openai.com/v1",
    keyPage: "https://platform.openai.com/api-keys",
    model: "gpt-5.6-terra",
  },
  { name: "ollama", title: "Ollama", kind: "openai", baseUrl: "http://127.0.0.1:11434/v1", keyPage: null, model: null },
];
const suggested = [{ name: "qwen3.5:4b", bytes: 3_400_000_000, licence: "Apache 2.0", memoryGb: 8 }];
const listed = (id: string) => ({ id, title: null, contextTokens: null, bytes: null, callsTools: null });
const without = () =>
  fakeHost({
    "config.get": () => aConfig(),
    "models.providers": () => ({ presets, suggested, ollamaNeedsModel: false }),
  });

test("provider with a key lists models, connects and tests", async () => {
  const host = without();
  host.answers["models.list"] = () =>
    Promise.reject(
      new RpcError(
        errorCode.invalidParams,
        "openai did not list its models: the provider refuses the key: wrong. Check the key.",
      ),
    );
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Connect OpenAI" }));
  const form = within(screen.getByRole("form", { name: "Connect OpenAI" }));
  expect(form.getByRole("button", { name: "List models" })).toBeDisabled();
  await user.type(form.getByLabelText("API key"), " sk-wrong ");
  await user.click(form.getByRole("button", { name: "List models" }));
  expect(await form.findByRole("alert")).toHaveTextContent("refuses the key: wrong");
  await user.clear(form.getByLabelText("API key"));
  await user.type(form.getByLabelText("API key"), "sk-right");
  host.answers["models.list"] = () => ({ provider: "openai", models: [listed("gpt-6"), listed("gpt-5.6-terra")] });
  host.answers["models.add"] = () => ({ active: "openai", providers: [] });
  host.answers["models.test"] = () => ({
    provider: "openai",
    model: "gpt-5.6-terra",
    verdict: "works",
    message: "Calls tools when it has to.",
    atMs: 0,
    tokens: 300,
  });
  await user.click(form.getByRole("button", { name: "List models" }));
  await user.click(await form.findByRole("button", { name: "Connect and test" }));
  const server = { name: "openai", kind: "openai", baseUrl: "https://api.openai.com/v1", key: "sk-right" };
  expect(await screen.findByText("Works")).toBeInTheDocument();
  expect(host.called("models.add")).toEqual([{ server, model: "gpt-5.6-terra" }]);
  expect(host.called("models.test")).toEqual([{ makeDefault: true, provider: "openai", model: "gpt-5.6-terra" }]);
});

test("unnamed provider is named after its address", async () => {
  const host = without();
  host.answers["models.list"] = () => ({ provider: "example", models: [listed("m-1")] });
  host.answers["models.add"] = () => ({ active: "example", providers: [] });
  host.answers["models.test"] = () => ({
    provider: "example",
    model: "m-1",
    verdict: "works",
    message: "Good.",
    atMs: 0,
    tokens: 300,
  });
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Connect Other" }));
  const form = within(screen.getByRole("form", { name: "Connect Other" }));
  await user.type(form.getByRole("textbox", { name: "URL" }), "http://127.0.0.1:4000/v1");
  expect(form.getByPlaceholderText("local")).toBeInTheDocument();
  await user.clear(form.getByRole("textbox", { name: "URL" }));
  await user.type(form.getByRole("textbox", { name: "URL" }), "https://llm.example.com/v1");
  await user.click(form.getByRole("button", { name: "List models" }));
  await user.click(await form.findByRole("button", { name: "Connect and test" }));
  expect(await screen.findByText("Works")).toBeInTheDocument();
  expect(host.called("models.add")).toEqual([
    { server: { name: "example", kind: "openai", baseUrl: "https://llm.example.com/v1" }, model: "m-1" },
  ]);
});

test("Ollama without a model offers a cancellable pull", async () => {
  const host = without();
  let pull: PullView | null = null;
  host.answers["models.list"] = () => ({
    provider: "ollama",
    models: pull?.state === "done" ? [listed("qwen3.5:4b")] : [],
  });
  host.answers["models.pullStatus"] = () => ({ pull });
  host.answers["models.pull"] = ({ model }) =>
    (pull = { model, state: "running", step: "", bytes: 850_000_000, totalBytes: 3_400_000_000, problem: null });
  host.answers["models.cancelPull"] = () => {
    pull = { ...pull!, state: "cancelled" };
    return { changed: true };
  };
  const { user } = renderApp("/settings", host);
  await user.click(await screen.findByRole("button", { name: "Connect Ollama" }));
  await user.click(await screen.findByRole("button", { name: "Find Ollama models" }));
  const offer = await screen.findByRole("button", { name: "Pull qwen3.5:4b" });
  expect(offer.parentElement).toHaveTextContent("Apache 2.0");
  await user.click(offer);
  expect(await screen.findByRole("progressbar", { name: "Pulling qwen3.5:4b" })).toHaveAttribute("aria-valuenow", "25");
  await user.click(screen.getByRole("button", { name: "Cancel" }));
  expect(await screen.findByText(/^Cancelled\./)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Pull qwen3.5:4b" }));
  await screen.findByRole("progressbar");
  pull = { ...pull!, state: "done" };
  await waitFor(() => expect(screen.getByRole("button", { name: "Connect and test" })).toBeEnabled(), {
    timeout: 3_000,
  });
});
