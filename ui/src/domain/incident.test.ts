import { expect, test } from "vitest";

import { anIncident, noon } from "@/test/fixtures";

import { incidentWords, isMended } from "./incident";

test("a failure says since when and how often", () => {
  const now = noon + 60_000;
  expect(incidentWords(anIncident({ count: 1 }), now)).not.toContain("times");
  expect(incidentWords(anIncident({ count: 14 }), now)).toMatch(/^Failing since .+ · 14 times · same cause$/);
});

test("a paused job says why", () => {
  expect(incidentWords(anIncident({ pausedBecause: "Paused after 3 failures in a row" }), noon)).toBe("Paused after 3 failures in a row");
});

test("a job that failed for want of a model is mended once there is one", () => {
  const incident = anIncident({ cause: "No model is set up. Start Ollama or LM Studio on this computer, or add a provider under Settings." });
  expect(isMended(incident, null)).toBe(false);
  expect(isMended(incident, "llama3.2 · Ollama")).toBe(true);
  expect(isMended(anIncident({ cause: "No answer." }), "llama3.2 · Ollama")).toBe(false);
});
