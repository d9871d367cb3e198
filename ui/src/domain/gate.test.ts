import { expect, test } from "vitest";

import { aStep } from "@/test/fixtures";

import { changedJobReason } from "./changedJob";
import { gateLabel } from "./gate";

test("label is the text of the engine", () => {
  const gate = { decision: "refused", refusal: { kind: "unknownTool" }, rewrittenBy: null } as const;
  expect(gateLabel(aStep({ gate, gateText: "refused: unknown tool" }))).toBe("refused: unknown tool");
});

test("job created in another form is named", () => {
  const reason = changedJobReason({ id: "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69", name: "Stretch" });
  const gate = { decision: "refused", refusal: { kind: "denied", reason }, rewrittenBy: null } as const;
  expect(gateLabel(aStep({ gate, gateText: "denied by you" }))).toBe("changed by you: created as “Stretch”");
});

test("call without a decision needed no approval", () => {
  expect(gateLabel(aStep({ gate: null }))).toBe("no approval needed");
});

test("other steps have no gate label", () => {
  expect(gateLabel(aStep({ gate: null, kind: "modelTurn" }))).toBeUndefined();
});
