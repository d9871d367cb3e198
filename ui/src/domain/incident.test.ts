import { expect, test } from "vitest";

import { anIncident, noon } from "@/test/fixtures";

import { incidentLabel, isModelConnectedSince } from "./incident";

test("incident label shows start and count", () => {
  const now = noon + 60_000;
  expect(incidentLabel(anIncident({ count: 1 }), now)).not.toContain("times");
  expect(incidentLabel(anIncident({ count: 14 }), now)).toMatch(/^Failing since .+ · 14 times · same cause$/);
});

test("paused job shows its reason", () => {
  expect(incidentLabel(anIncident({ pausedBecause: "Paused after 3 failures in a row" }), noon)).toBe(
    "Paused after 3 failures in a row",
  );
});

test("missing model incident resolves once a model exists", () => {
  const incident = anIncident({
    cause: "No model is set up. Start Ollama or LM Studio on this computer, or add a provider under Settings.",
  });
  expect(isModelConnectedSince(incident, null)).toBe(false);
  expect(isModelConnectedSince(incident, "llama3.2 · Ollama")).toBe(true);
  expect(isModelConnectedSince(anIncident({ cause: "No answer." }), "llama3.2 · Ollama")).toBe(false);
});
