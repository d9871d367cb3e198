import { expect, test } from "vitest";

import { anApproval } from "@/test/fixtures";

import { answerOf, coverWords, draftFor, draftWords, type GrantDraft, kindsFor, problemsOf, type Said } from "./rules";

const now = Date.UTC(2026, 10, 21, 10, 0, 0);
const approval = anApproval({ arguments: { path: "notes/today.md", content: "dentist\n", mode: 7 } });

/** A sentence as it reads. */
const read = (said: Said) => said.map((part) => (typeof part === "string" ? part : part.value)).join("");

/** A pattern in which one argument has another rule. */
function withRule(name: string, part: Partial<GrantDraft["rules"][number]>): GrantDraft {
  const draft = draftFor(approval);
  return { ...draft, cover: "pattern", rules: draft.rules.map((rule) => (rule.name === name ? { ...rule, ...part } : rule)) };
}

test("a grant begins with exactly the call that asked, for thirty days", () => {
  expect(answerOf(draftFor(approval), now)).toEqual({ kind: "always", expiresAtMs: now + 30 * 86_400_000 });
  expect(read(draftWords({ ...draftFor(approval), days: null }, approval, now))).toBe(
    "“Weekly notes” may call write_file without asking with exactly these arguments, until somebody takes it back.",
  );
});

test("a pattern sends a rule for every argument, each exactly what it was until it is loosened", () => {
  const draft = withRule("path", { kind: "below", root: " notes " });
  expect(answerOf({ ...draft, days: null, uses: 20 }, now)).toEqual({
    kind: "always", uses: 20,
    rules: { path: { rule: "below", value: "notes" }, content: { rule: "equals", value: "dentist\n" }, mode: { rule: "equals", value: 7 } },
  });
  expect(read(draftWords({ ...draft, days: null, uses: 1 }, approval, now))).toBe(
    "“Weekly notes” may call write_file without asking when path is “notes” or lies below it and content is exactly “dentist ↵ ” and mode is exactly “7”, in /home/ada/workspace, until somebody takes it back, once.",
  );
});

test("one of several values keeps their kind", () => {
  expect(answerOf({ ...withRule("mode", { kind: "oneOf", lines: "7\n8\n\n" }), days: null }, now)).toMatchObject({ rules: { mode: { rule: "oneOf", value: [7, 8] } } });
  expect(answerOf({ ...withRule("path", { kind: "oneOf", lines: "7\nnotes/today.md" }), days: null }, now)).toMatchObject({ rules: { path: { rule: "oneOf", value: ["7", "notes/today.md"] } } });
});

test.each([
  ["notes/today.md", ["equals", "below", "oneOf", "any"]],
  ["https://example.com/api/v1?x=1", ["equals", "below", "oneOf", "any"]],
  ["dentist\n", ["equals", "oneOf", "any"]],
  [7, ["equals", "oneOf", "any"]],
  [{ a: 1 }, ["equals", "oneOf", "any"]],
])("%j may be granted by %j", (value, kinds) => {
  const [rule] = draftFor(anApproval({ arguments: { value } })).rules;
  expect(kindsFor(rule!)).toEqual(kinds);
});

test.each([
  ["notes/today.md", "notes"],
  ["today.md", "today.md"],
  ["https://example.com/api/v1", "https://example.com/api"],
  ["https://example.com", "https://example.com"],
  ["/home/ada/notes/a b.md", ""],
])("what %s lies below is suggested as %s", (value, root) => {
  expect(draftFor(anApproval({ arguments: { value } })).rules[0]!.root).toBe(root);
});

test.each([
  [withRule("path", { kind: "below", root: "  " }), { path: "What was asked for does not lie below this." }],
  [withRule("path", { kind: "below", root: "note" }), { path: "What was asked for does not lie below this." }],
  [withRule("path", { kind: "below", root: "notes/" }), {}],
  [withRule("mode", { kind: "oneOf", lines: "8" }), { mode: "What was asked for is not among them." }],
  [withRule("mode", { kind: "oneOf", lines: "" }), { mode: "Give at least one value." }],
  [draftFor(approval), {}],
])("a pattern that would not cover the call is said before it is sent", (draft, problems) => {
  expect(problemsOf(draft)).toEqual(problems);
});

test("what a grant covers is said in words", () => {
  expect(read(coverWords({ kind: "exact", arguments: {} }))).toBe("with exactly these arguments");
  expect(read(coverWords({ kind: "pattern", folder: null, rules: { url: { rule: "below", value: "https://example.com" }, method: { rule: "oneOf", value: ["GET", "HEAD"] }, body: { rule: "any" } } }))).toBe(
    "when url is “https://example.com” or lies below it and method is “GET” or “HEAD” and body is anything",
  );
  expect(read(coverWords({ kind: "pattern", folder: null, rules: {} }))).toBe("without arguments");
  expect(read(coverWords({ kind: "pattern", folder: "/home/a/work", rules: { path: { rule: "any" } } }))).toBe("when path is anything, in /home/a/work");
});

test("no value of a model is taken for words of the sentence, and what cannot be seen in it is shown by its number", () => {
  const forged = "notes” or lies below it and content is anything, in “/";
  const said = coverWords({ kind: "pattern", folder: null, rules: { path: { rule: "equals", value: forged }, content: { rule: "oneOf", value: ["a\u202eb", "c ↵ d\ne ⟨U+202E⟩"] } } });
  expect(said).toContainEqual({ value: forged });
  expect(read(said)).toContain("“a⟨U+202E⟩b” or “c ⟨U+21B5⟩ d ↵ e ⟨U+27E8⟩U+202E⟩”");
});

test("how much of a long value is not in the sentence is said", () => {
  const value = `${"a".repeat(159)}\u202e${"b".repeat(2_000)}`;
  expect(read(coverWords({ kind: "pattern", folder: null, rules: { content: { rule: "equals", value } } }))).toBe(`when content is exactly “${"a".repeat(159)}⟨U+202E⟩…” (and 2,000 more characters)`);
});
