import { expect, test } from "vitest";

import { authorText, creatingAgent } from "./authorship";

test.each([
  [{ kind: "agent", client: "Claude Code" }, "“Claude Code” (its own claim)"],
  [{ kind: "agent", client: "a\nb\u202e" }, "“a⟨U+000A⟩b⟨U+202E⟩” (its own claim)"],
  [{ kind: "agent", client: " " }, "an agent"],
  [{ kind: "agent", runId: "r1" }, "an agent"],
  [{ kind: "agent", client: 7 }, "an agent"],
])("author %j is named as %s", (createdBy, text) => {
  const maker = creatingAgent({ createdBy });
  expect(maker && authorText(maker)).toBe(text);
});

test.each([undefined, "me", { kind: "person", client: "x" }])("author %j is no agent", (createdBy) => {
  expect(creatingAgent({ createdBy })).toBeUndefined();
});
