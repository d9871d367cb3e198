import { expect, test } from "vitest";

import { anIncident, noon } from "@/test/fixtures";

import { incidentWords } from "./incident";

test("a failure says since when and how often", () => {
  const now = noon + 60_000;
  expect(incidentWords(anIncident({ count: 1 }), now)).not.toContain("times");
  expect(incidentWords(anIncident({ count: 14 }), now)).toMatch(/^Failing since .+ · 14 times · same cause$/);
});

test("a paused job says why", () => {
  expect(incidentWords(anIncident({ pausedBecause: "Paused after 3 failures in a row" }), noon)).toBe("Paused after 3 failures in a row");
});
