import { expect, test } from "vitest";

import { words } from "./HeartbeatRow";

const usual = { enabled: true, everyMs: 1_800_000, activeHours: null, nextAtMs: 1, lastSkipReason: null, lastSkip: null, queuedEvents: 0, pending: null, lastRequest: null, changedList: null };

test("the heartbeat says its rhythm, and why it does not beat", () => {
  expect(words(usual)).toBe("Every 30 minutes");
  expect(words({ ...usual, activeHours: "08:00–22:00", lastSkipReason: "There was nothing to do" })).toBe("Every 30 minutes, 08:00–22:00 · last: There was nothing to do");
  expect(words({ ...usual, nextAtMs: null, lastSkipReason: "No model is set up" })).toBe("No model is set up");
  expect(words({ ...usual, pending: "It waits for a model" })).toBe("Every 30 minutes · It waits for a model");
  const changedList = { why: "HEARTBEAT.md was changed while run_command was at work", runId: "r1", text: "x", digest: "d" };
  expect(words({ ...usual, changedList })).toBe("HEARTBEAT.md was changed while run_command was at work. Look at it.");
  expect(words({ ...usual, enabled: false, nextAtMs: null, queuedEvents: 2 })).toBe("Off · 2 waiting");
});
