import { expect, test } from "vitest";

import type { Job } from "@/platform";
import { aChannel } from "@/test/fixtures";

import { jobPatchWithout, targetTest } from "./removal";

test("kind names only a single channel", () => {
  const phone = aChannel();
  const isOnly = targetTest([phone, aChannel({ name: "team", kind: "slack" })], phone);
  expect(["phone", "phone:7", "telegram", "phones", "team"].filter(isOnly)).toEqual(["phone", "phone:7", "telegram"]);
  const isOneOfTwo = targetTest([phone, aChannel({ name: "work" })], phone);
  expect(["phone", "telegram"].filter(isOneOfTwo)).toEqual(["phone"]);
});

test("job loses only the removed channel", () => {
  const isRemoved = (target: string) => target.startsWith("phone");
  const turn: Job["payload"] = { kind: "agentTurn", message: "x", channel: "phone", to: "7" };
  expect(jobPatchWithout({ payload: turn, policies: { deliverTo: ["mail", "phone:7"] } }, isRemoved)).toEqual({
    payload: { channel: null, to: null },
    policies: { deliverTo: ["mail"] },
  });
  const reminder: Job["payload"] = { kind: "systemEvent", text: "x" };
  expect(jobPatchWithout({ payload: reminder, policies: { deliverTo: ["phone"] } }, isRemoved)).toEqual({
    policies: { deliverTo: null },
  });
  expect(jobPatchWithout({ payload: { ...turn, channel: "last" } }, isRemoved)).toBeUndefined();
});
