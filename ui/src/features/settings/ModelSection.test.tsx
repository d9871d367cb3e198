import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import type { ProviderView } from "@/platform";
import { fakeHost } from "@/test/fakeHost";
import { aConfig, aStatus } from "@/test/fixtures";
import { renderApp } from "@/test/renderApp";

const ollama: ProviderView = { name: "ollama", label: "Ollama on this computer", kind: "openai", baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2", source: "local", keyEnv: null, keySecret: null, problem: null };

test("a model that does not answer is not said to be in use without a word; another one of its provider is no matter", async () => {
  const other = { provider: "ollama", model: "qwen3", sinceMs: Date.now(), words: "It is asleep.", mend: "Start Ollama.", keyEnv: null };
  const host = fakeHost({ "config.get": () => aConfig(), "providers.list": () => ({ active: "ollama", providers: [ollama] }) });
  host.answers["system.status"] = () => aStatus({ failingModels: [other] });
  renderApp("/settings", host);
  expect(await screen.findByText("In use")).toBeInTheDocument();
  host.answers["system.status"] = () => aStatus({ failingModels: [other, { ...other, model: "llama3.2", words: "Nothing listens there.\nat all" }] });
  host.emit("config", {});
  expect(await screen.findByText("Does not answer")).toBeInTheDocument();
  expect(screen.queryByText("In use")).not.toBeInTheDocument();
  expect(screen.getByText(/^It has not answered since/)).toHaveTextContent(/: Nothing listens there\.$/);
  expect(screen.getByText("Start Ollama.")).toBeInTheDocument();
});
