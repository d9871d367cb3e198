import { expect, test } from "vitest";

import { heartbeatLabel } from "./HeartbeatRow";

const usual = {
  enabled: true,
  everyMs: 1_800_000,
  activeHours: null,
  nextAtMs: 1,
  lastSkipReason: null,
  lastSkip: null,
  queuedEvents: 0,
  pending: null,
  lastRequest: null,
  untrustedList: null,
};

test("heartbeat shows interval and skip reason", () => {
  expect(heartbeatLabel(usual)).toBe("Every 30 minutes");
  expect(heartbeatLabel({ ...usual, activeHours: "08:00–22:00", lastSkipReason: "There was nothing to do" })).toBe(
    "Every 30 minutes, 08:00–22:00 · last: There was nothing to do",
  );
  expect(heartbeatLabel({ ...usual, nextAtMs: null, lastSkipReason: "No model is set up" })).toBe("No model is set up");
  expect(heartbeatLabel({ ...usual, pending: "It waits for a model" })).toBe("Every 30 minutes · It waits for a model");
  const untrustedList = {
    changedBy: "HEARTBEAT.md was changed while run_command was at work",
    runId: "r1",
    text: "x",
    digest: "d",
  };
  expect(heartbeatLabel({ ...usual, untrustedList })).toBe(
    "HEARTBEAT.md was changed while run_command was at work. Review it.",
  );
  expect(heartbeatLabel({ ...usual, enabled: false, nextAtMs: null, queuedEvents: 2 })).toBe("Off · 2 queued");
});
