import { expect, test } from "vitest";

import { changedJobReason } from "@/domain/changedJob";
import { aDetail, anApproval, aPermission, noon } from "@/test/fixtures";

import {
  decisionEffect,
  decisionLabel,
  decisionSummary,
  argumentsNote,
  requestingRun,
  remainingLabel,
  elapsedLabel,
} from "./decisionText";

test.each([
  [-5, "0 s"],
  [400, "1 s"],
  [48_000, "48 s"],
  [60_000, "1 min"],
  [252_000, "4 min 12 s"],
  [1_440_000, "24 min"],
  [5_400_000, "1 h 30 min"],
  [7_200_000, "2 h"],
])("%d ms are %s", (ms, words) => {
  expect(remainingLabel(ms)).toBe(words);
});

test.each([
  [{ state: "approved", scope: "run" }, "Allowed for this run"],
  [{ state: "approved", scope: "always" }, "Allowed always"],
  [{ state: "denied" }, "Denied"],
  [
    { state: "denied", reason: changedJobReason({ id: "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69", name: "Stretch" }) },
    "Changed by you",
  ],
  [{ state: "expired" }, "Expired"],
  [{ state: "withdrawn" }, "Withdrawn"],
  [{ state: "approved", scope: "once", inputAnswer: { action: "accept", content: null } }, "Answered"],
  [{ state: "denied", inputAnswer: { action: "decline" } }, "Declined"],
] as const)("%j reads %s", (parts, word) => {
  expect(decisionLabel(anApproval(parts))).toBe(word);
});

test.each([
  [-5_000, "0 s"],
  [48_900, "48 s"],
  [60_000, "1 min"],
  [59 * 60_000 + 59_000, "59 min"],
  [3_600_000, "1 h"],
  [125 * 60_000, "2 h 5 min"],
  [24 * 3_600_000, "1 d"],
  [76 * 3_600_000 + 59_000, "3 d 4 h"],
])("wait of %d ms reads %s, rounded down", (ms, words) => {
  expect(elapsedLabel(ms)).toBe(words);
});

test("decision summary names source and time", () => {
  const decided = anApproval({ state: "approved", scope: "once", decidedFrom: "cli", decidedAtMs: noon });
  expect(decisionSummary(decided, noon)).toMatch(/^Allowed once from the command line, \d\d:\d\d/);
});

test("decision in the app names the app", () => {
  expect(
    decisionSummary(anApproval({ state: "approved", scope: "once", decidedFrom: "page", decidedAtMs: noon }), noon),
  ).toMatch(/^Allowed once in the app, \d\d:\d\d/);
});

test.each([
  [
    { state: "approved", scope: "once" },
    "The run continues with exactly this call.",
    "The run continued with exactly this call.",
  ],
  [
    { state: "approved", scope: "always" },
    "The run continues with this call, and a grant covers such calls from now on. See Grants.",
    "The run continued with this call, and a grant covers such calls from now on. See Grants.",
  ],
  [
    { state: "denied", reason: "Use the archive." },
    "The agent gets your reason: “Use the archive.”",
    "The agent got your reason: “Use the archive.”",
  ],
  [{ state: "denied" }, "The run continues without the call.", "The run continued without the call."],
  [{ state: "expired" }, "The run continues without the call.", "The run continued without the call."],
  [{ state: "withdrawn" }, "The run ended before your decision.", "The run ended before your decision."],
  [
    { state: "covered" },
    "A grant that you gave after this request covers it, so the run continues.",
    "A grant that you gave after this request covers it, so the run continued.",
  ],
  [{ state: "pending" }, undefined, undefined],
] as const)("%j describes the run in present or past tense", (parts, live, over) => {
  expect(
    (["running", "succeeded"] as const).map((state) =>
      decisionEffect(anApproval(parts), { state, others: 0, makesOneCall: false }),
    ),
  ).toEqual([live, over]);
});

test.each([
  [{ state: "approved", scope: "once" }, 0, "The run continues with exactly this call."],
  [
    { state: "approved", scope: "once" },
    1,
    "The run continues with exactly this call after its other approval is decided.",
  ],
  [{ state: "denied" }, 2, "The run continues without the call after its 2 other approvals are decided."],
  [{ state: "expired" }, 1, "The run continues without the call after its other approval is decided."],
  [
    { state: "covered" },
    2,
    "A grant that you gave after this request covers it, so the run continues after its 2 other approvals are decided.",
  ],
] as const)("%j mentions %d other pending approvals", (parts, others, words) => {
  expect(decisionEffect(anApproval(parts), { state: "awaitingApproval", others, makesOneCall: false })).toBe(words);
});

test.each([
  [{ state: "approved", scope: "once" }, undefined],
  [{ state: "approved", scope: "always" }, "A grant covers such calls from now on. See Grants."],
  [{ state: "denied", reason: "Use the archive." }, "The call was not made. Reason: “Use the archive.”"],
  [{ state: "denied" }, "The call was not made."],
  [{ state: "expired" }, "The call was not made."],
  [{ state: "withdrawn" }, "The run ended before your decision."],
  [{ state: "covered" }, "A grant that you gave after this request covers it."],
] as const)("%j on a stopped run claims nothing about the run", (parts, words) => {
  for (const state of ["cancelled", "interrupted"] as const)
    expect(decisionEffect(anApproval(parts), { state, others: 0, makesOneCall: false })).toBe(words);
});

test.each([
  [{ state: "denied", reason: "Use the archive." }, "The call was not made. Reason: “Use the archive.”"],
  [{ state: "denied" }, "The call was not made."],
  [{ state: "expired" }, "The call was not made."],
  [{ state: "approved", scope: "once" }, "The run continued with exactly this call."],
] as const)("%j on a run without a model mentions only the call", (parts, words) => {
  const { state, others, makesOneCall } = requestingRun(
    aDetail({ state: "failed" }, { payload: { kind: "toolCall", tool: "write_file", arguments: {} } }),
    0,
  );
  expect(decisionEffect(anApproval(parts), { state, others, makesOneCall })).toBe(words);
});

test.each([
  [{ path: "a", content: "b" }, "Exactly as passed to the tool"],
  [
    { headers: { Authorization: "Bearer {{ secret:mail }}" } },
    "As passed to the tool; handles stand for stored secrets",
  ],
  [{ headers: { Cookie: "[hidden: 82 characters]" } }, "Some values are redacted"],
  [{ body: "a [redacted: secret:mail]" }, "Some values are redacted"],
])("%j gets an accurate arguments note", (given, words) => {
  expect(argumentsNote(anApproval({ arguments: given }))).toBe(words);
});

const waiting = { state: "running", others: 0, makesOneCall: false } as const;

test.each([
  [{ state: "approved", scope: "once" }, "claude-code continues with exactly this action."],
  [
    { state: "approved", scope: "run" },
    "claude-code continues with exactly this action, and may repeat the same action in this task.",
  ],
  [{ state: "denied" }, "claude-code continues without this action."],
  [{ state: "expired" }, "claude-code gets no answer, so its task was cancelled."],
  [{ state: "withdrawn" }, "The run ended before your decision."],
] as const)("permission %j tells what the agent does", (parts, words) => {
  expect(decisionEffect(aPermission(parts), waiting)).toBe(words);
});

test("permission of a stopped run claims no effect", () => {
  expect(decisionEffect(aPermission({ state: "denied" }), { ...waiting, state: "cancelled" })).toBeUndefined();
});
