import { expect, test } from "vitest";

import { changedWords } from "@/domain/changedJob";
import { aDetail, anApproval, noon } from "@/test/fixtures";

import { afterwards, answerWord, answerWords, argumentsWords, askingRun, leftWords, waitedWords } from "./words";

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
  expect(leftWords(ms)).toBe(words);
});

test.each([
  [{ state: "approved", scope: "run" }, "Allowed for this run"],
  [{ state: "approved", scope: "always" }, "Allowed always"],
  [{ state: "denied" }, "Denied"],
  [{ state: "denied", reason: changedWords({ id: "0b54f1a2-5c5e-4c0c-9d0e-3f1d2c4b5a69", name: "Stretch" }) }, "Changed by you"],
  [{ state: "expired" }, "Nobody answered in time"],
  [{ state: "withdrawn" }, "Not needed any more"],
] as const)("%j reads %s", (parts, word) => {
  expect(answerWord(anApproval(parts))).toBe(word);
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
])("a wait of %d ms reads %s, never more than it was", (ms, words) => {
  expect(waitedWords(ms)).toBe(words);
});

test("an answer says from where and when", () => {
  const answered = anApproval({ state: "approved", scope: "once", answeredFrom: "cli", decidedAtMs: noon });
  expect(answerWords(answered, noon)).toMatch(/^Allowed once from the command line, \d\d:\d\d/);
});

test("an answer given here says so in a word", () => {
  expect(answerWords(anApproval({ state: "approved", scope: "once", answeredFrom: "page", decidedAtMs: noon }), noon)).toMatch(/^Allowed once here, \d\d:\d\d/);
});

test.each([
  [{ state: "approved", scope: "once" }, "The run goes on with exactly this call.", "The run went on with exactly this call."],
  [{ state: "approved", scope: "always" }, "The run goes on with this call, and a grant covers the next ones: it stands under Grants.", "The run went on with this call, and a grant covers the next ones: it stands under Grants."],
  [{ state: "denied", reason: "Use the archive." }, "The model is told: “Use the archive.”", "The model was told: “Use the archive.”"],
  [{ state: "denied" }, "The model is told so, and the run goes on without it.", "The model was told so, and the run went on without it."],
  [{ state: "expired" }, "The model is told so, and the run goes on without it.", "The model was told so, and the run went on without it."],
  [{ state: "withdrawn" }, "The run ended before anybody answered.", "The run ended before anybody answered."],
  [{ state: "covered" }, "You have granted this since it was asked, so the run goes on by the grant.", "You have granted this since it was asked, so the run went on by the grant."],
  [{ state: "pending" }, undefined, undefined],
] as const)("of %j one reads what becomes of the run, and what became of it once that is over", (parts, live, over) => {
  expect((["running", "succeeded"] as const).map((state) => afterwards(anApproval(parts), { state, others: 0, makesOneCall: false }))).toEqual([live, over]);
});

test.each([
  [{ state: "approved", scope: "once" }, 0, "The run goes on with exactly this call."],
  [{ state: "approved", scope: "once" }, 1, "The run goes on with exactly this call, once its other question has an answer."],
  [{ state: "denied" }, 2, "The model is told so, and the run goes on without it, once its 2 other questions have an answer."],
  [{ state: "expired" }, 1, "The model is told so, and the run goes on without it, once its other question has an answer."],
  [{ state: "covered" }, 2, "You have granted this since it was asked, so the run goes on by the grant, once its 2 other questions have an answer."],
] as const)("what %j means with %d more open questions of its run", (parts, others, words) => {
  expect(afterwards(anApproval(parts), { state: "awaitingApproval", others, makesOneCall: false })).toBe(words);
});

test.each([
  [{ state: "approved", scope: "once" }, undefined],
  [{ state: "approved", scope: "always" }, "A grant covers such calls from now on: it stands under Grants."],
  [{ state: "denied", reason: "Use the archive." }, "The call was not made. The reason given: “Use the archive.”"],
  [{ state: "denied" }, "The call was not made."],
  [{ state: "expired" }, "The call was not made."],
  [{ state: "withdrawn" }, "The run ended before anybody answered."],
  [{ state: "covered" }, "You have granted this since it was asked."],
] as const)("of %j in a run that was stopped or broken off nobody knows how far it went on, and nothing is claimed of that", (parts, words) => {
  for (const state of ["cancelled", "interrupted"] as const) expect(afterwards(anApproval(parts), { state, others: 0, makesOneCall: false })).toBe(words);
});

test.each([
  [{ state: "denied", reason: "Use the archive." }, "The call was not made. The reason given: “Use the archive.”"],
  [{ state: "denied" }, "The call was not made."],
  [{ state: "expired" }, "The call was not made."],
  [{ state: "approved", scope: "once" }, "The run went on with exactly this call."],
] as const)("of %j in a run without a model nobody is told, and nothing goes on without its one call", (parts, words) => {
  const { state, others, makesOneCall } = askingRun(aDetail({ state: "failed" }, { payload: { kind: "toolCall", tool: "write_file", arguments: {} } }), 0);
  expect(afterwards(anApproval(parts), { state, others, makesOneCall })).toBe(words);
});

test.each([
  [{ path: "a", content: "b" }, [], "Exactly as they will be passed on"],
  [{ content: "{{secret:mail}}" }, ["mail"], "As they will be passed on, with its value in the place of each handle"],
  [{ headers: { Authorization: "Bearer {{ secret:mail }}" } }, [], "As they will be passed on; a handle stands for a stored secret"],
  [{ headers: { Cookie: "[hidden: 82 characters]" } }, [], "Some values are not shown"],
  [{ body: "a [redacted: secret:mail]" }, ["mail"], "Some values are not shown"],
])("the arguments %j are called what they are", (given, writesValues, words) => {
  expect(argumentsWords(anApproval({ arguments: given, writesValues }))).toBe(words);
});
