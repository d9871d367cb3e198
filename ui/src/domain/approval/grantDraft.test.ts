import { expect, test } from "vitest";

import { anApproval } from "@/test/fixtures";

import {
  grantDecision,
  coverSentence,
  newGrantDraft,
  grantSentence,
  type GrantDraft,
  ruleKindsFor,
  grantDraftErrors,
  type GrantSentence,
} from "./grantDraft";

const now = Date.UTC(2026, 10, 21, 10, 0, 0);
const approval = anApproval({ arguments: { path: "notes/today.md", content: "dentist\n", mode: 7 } });

/** Sentence as plain text. */
const read = (said: GrantSentence) => said.map((part) => (typeof part === "string" ? part : part.value)).join("");

/** Pattern with a different rule for one argument. */
function withRule(name: string, part: Partial<GrantDraft["rules"][number]>): GrantDraft {
  const draft = newGrantDraft(approval);
  return {
    ...draft,
    cover: "pattern",
    rules: draft.rules.map((rule) => (rule.name === name ? { ...rule, ...part } : rule)),
  };
}

test("new grant covers the exact call for thirty days", () => {
  expect(grantDecision(newGrantDraft(approval), now)).toEqual({ kind: "always", expiresAtMs: now + 30 * 86_400_000 });
  expect(read(grantSentence({ ...newGrantDraft(approval), days: null }, approval, now))).toBe(
    "“Weekly notes” may call write_file without approval with exactly these arguments, until you revoke it.",
  );
});

test("pattern starts with an exact rule per argument", () => {
  const draft = withRule("path", { kind: "below", root: " notes " });
  expect(grantDecision({ ...draft, days: null, uses: 20 }, now)).toEqual({
    kind: "always",
    uses: 20,
    rules: {
      path: { rule: "below", value: "notes" },
      content: { rule: "equals", value: "dentist\n" },
      mode: { rule: "equals", value: 7 },
    },
  });
  expect(read(grantSentence({ ...draft, days: null, uses: 1 }, approval, now))).toBe(
    "“Weekly notes” may call write_file without approval when path is “notes” or is under it and content is exactly “dentist ↵ ” and mode is exactly “7”, in /home/ada/workspace, until you revoke it, once.",
  );
});

test("one of several values keeps their kind", () => {
  expect(grantDecision({ ...withRule("mode", { kind: "oneOf", lines: "7\n8\n\n" }), days: null }, now)).toMatchObject({
    rules: { mode: { rule: "oneOf", value: [7, 8] } },
  });
  expect(
    grantDecision({ ...withRule("path", { kind: "oneOf", lines: "7\nnotes/today.md" }), days: null }, now),
  ).toMatchObject({ rules: { path: { rule: "oneOf", value: ["7", "notes/today.md"] } } });
});

test.each([
  ["notes/today.md", ["equals", "below", "oneOf", "any"]],
  ["https://example.com/api/v1?x=1", ["equals", "below", "oneOf", "any"]],
  ["dentist\n", ["equals", "oneOf", "any"]],
  [7, ["equals", "oneOf", "any"]],
  [{ a: 1 }, ["equals", "oneOf", "any"]],
])("%j may be granted by %j", (value, kinds) => {
  const [rule] = newGrantDraft(anApproval({ arguments: { value } })).rules;
  expect(ruleKindsFor(rule!)).toEqual(kinds);
});

test.each([
  ["notes/today.md", "notes"],
  ["today.md", "today.md"],
  ["https://example.com/api/v1", "https://example.com/api"],
  ["https://example.com", "https://example.com"],
  ["/home/ada/notes/a b.md", ""],
])("%s suggests root %s", (value, root) => {
  expect(newGrantDraft(anApproval({ arguments: { value } })).rules[0]!.root).toBe(root);
});

test.each([
  [withRule("path", { kind: "below", root: "  " }), { path: "The requested value is not under this." }],
  [withRule("path", { kind: "below", root: "note" }), { path: "The requested value is not under this." }],
  [withRule("path", { kind: "below", root: "notes/" }), {}],
  [withRule("mode", { kind: "oneOf", lines: "8" }), { mode: "The requested value is not in this list." }],
  [withRule("mode", { kind: "oneOf", lines: "" }), { mode: "Add at least one value." }],
  [newGrantDraft(approval), {}],
])("pattern that misses the call is rejected before sending", (draft, problems) => {
  expect(grantDraftErrors(draft)).toEqual(problems);
});

test("coverage reads as a sentence", () => {
  expect(read(coverSentence({ kind: "exact", arguments: {} }))).toBe("with exactly these arguments");
  expect(
    read(
      coverSentence({
        kind: "pattern",
        folder: null,
        rules: {
          url: { rule: "below", value: "https://example.com" },
          method: { rule: "oneOf", value: ["GET", "HEAD"] },
          body: { rule: "any" },
        },
      }),
    ),
  ).toBe("when url is “https://example.com” or is under it and method is “GET” or “HEAD” and body is anything");
  expect(read(coverSentence({ kind: "pattern", folder: null, rules: {} }))).toBe("without arguments");
  expect(read(coverSentence({ kind: "pattern", folder: "/home/a/work", rules: { path: { rule: "any" } } }))).toBe(
    "when path is anything, in /home/a/work",
  );
});

test("values cannot imitate the sentence or hide characters", () => {
  const forged = "notes” or is under it and content is anything, in “/";
  const said = coverSentence({
    kind: "pattern",
    folder: null,
    rules: {
      path: { rule: "equals", value: forged },
      content: { rule: "oneOf", value: ["a\u202eb", "c ↵ d\ne ⟨U+202E⟩"] },
    },
  });
  expect(said).toContainEqual({ value: forged });
  expect(read(said)).toContain("“a⟨U+202E⟩b” or “c ⟨U+21B5⟩ d ↵ e ⟨U+27E8⟩U+202E⟩”");
});

test("long value shows the number of omitted characters", () => {
  const value = `${"a".repeat(159)}\u202e${"b".repeat(2_000)}`;
  expect(read(coverSentence({ kind: "pattern", folder: null, rules: { content: { rule: "equals", value } } }))).toBe(
    `when content is exactly “${"a".repeat(159)}⟨U+202E⟩…” (and 2,000 more characters)`,
  );
});
