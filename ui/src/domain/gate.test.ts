import { expect, test } from "vitest";

import type { GateView, RefusalView } from "@/platform";
import { aStep } from "@/test/fixtures";

import { changedWords } from "./changedJob";
import { gateWords } from "./gate";

function refused(why: RefusalView | null, rewrittenBy: string | null = null): string | undefined {
  return gateWords(aStep({ gate: { decision: "refused", why, rewrittenBy } }));
}

test.each<[RefusalView | null, string]>([
  [null, "refused"],
  [{ kind: "unknownTool" }, "refused: there is no such tool"],
  [{ kind: "misfit" }, "refused: did not fit the tool’s parameters"],
  [{ kind: "rateLimited", waitMs: 39_001 }, "refused: over its rate, may be tried again after 40 s"],
  [{ kind: "notListed" }, "refused: not on the list of tools"],
  [{ kind: "ceiling", skills: ["notes", "mail"] }, "refused: may only look, told of what nobody has trusted (notes, mail)"],
  [{ kind: "unattended" }, "refused: only while you are there"],
  [{ kind: "unasked", approvals: "deny" }, "refused: needs a yes, and approvals are set to deny"],
  [{ kind: "hook", hook: "guard", how: "saidNo" }, "refused by the hook guard"],
  [{ kind: "hook", hook: "guard", how: "didNotAnswer" }, "refused: the hook guard did not answer"],
  [{ kind: "hook", hook: "guard", how: "keptRewriting" }, "refused: the hook guard rewrote it again and again"],
  [{ kind: "denied", reason: null }, "refused by you"],
  [{ kind: "denied", reason: "Not \u202Ethat.\nNever." }, "refused by you: Not ⟨U+202E⟩that.…"],
  [{ kind: "denied", reason: changedWords({ id: "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69", name: "Stretch" }) }, "changed by you: made as “Stretch”"],
  [{ kind: "expired" }, "question expired"],
  [{ kind: "jobGone" }, "refused: needs a yes, and the job was deleted"],
  [{ kind: "earlierAsks" }, "refused: earlier runs wait for an answer"],
  [{ kind: "leak", found: ["secret:mail", "stripe-access-token"] }, "refused by the safety layer, which found secret:mail, stripe-access-token"],
  [{ kind: "secret", name: "mail" }, "refused: the secret mail could not be filled in"],
  [{ kind: "unkept" }, "refused: holds a stored secret that must not be written down"],
  [{ kind: "budget" }, "refused: over budget"],
  [{ kind: "noSandbox" }, "refused: no sandbox for it here"],
  [{ kind: "impossible" }, "refused: could not be carried out"],
])("the refusal %j is said as %s", (why, words) => {
  expect(refused(why)).toBe(words);
});

test("what is no call says nothing", () => {
  expect(gateWords(aStep({ gate: null, kind: "modelTurn" }))).toBeUndefined();
});

test.each<[GateView | null, string | undefined]>([
  [null, "needed no yes"],
  [{ decision: "written" }, "written into the job"],
  [{ decision: "granted", grantId: "g", rewrittenBy: null }, "covered by a grant"],
  [{ decision: "answered", approvalId: "a", rewrittenBy: null }, "allowed by you"],
  [{ decision: "answered", approvalId: "a", rewrittenBy: "guard" }, "allowed by you · rewritten by the hook guard"],
  [{ decision: "rewritten", rewrittenBy: "guard" }, "rewritten by the hook guard"],
])("the decision %j is said as %s", (gate, words) => {
  expect(gateWords(aStep({ gate }))).toBe(words);
});

test("a call that a hook has rewritten and that was refused says both", () => {
  expect(refused({ kind: "misfit" }, "guard")).toBe("refused: did not fit the tool’s parameters · rewritten by the hook guard");
});
