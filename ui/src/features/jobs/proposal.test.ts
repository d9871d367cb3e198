import { expect, test } from "vitest";

import { noon } from "@/test/fixtures";

import { addOf } from "./form";
import { proposalOf } from "./proposal";

/** What is made when the proposal is saved as it opens. */
function made(proposed: Record<string, unknown>, firesOnceAtMs: number | null = null) {
  const { draft, form, unread } = proposalOf({ arguments: proposed, firesOnceAtMs }, noon);
  expect(unread).toEqual([]);
  return addOf(draft, form, form);
}

test.each([
  [
    { name: "Brief", description: "Why", schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" }, message: "Look", tools: ["read_file", 7], notify: "always" },
    { description: "Why", schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" }, sessionTarget: "isolated", payload: { kind: "agentTurn", message: "Look", tools: ["read_file"] }, policies: { notify: "always" } },
  ],
  [
    { name: "Site", schedule: { kind: "every", every: "1h30m" }, call: { tool: "http", arguments: { url: "https://example.com" }, notifyWhen: "changed" } },
    { schedule: { kind: "every", everyMs: 5_400_000 }, payload: { kind: "toolCall", tool: "http", arguments: { url: "https://example.com" }, notifyWhen: "changed" } },
  ],
  [{ name: "Quiet", schedule: { kind: "manual" }, message: "Look", use_tools: false }, { schedule: { kind: "manual" }, payload: { useTools: false } }],
  [{ name: "After", schedule: { kind: "event", source: "wake", pattern: "x", filters: { k: 1 } }, message: "Look" }, { schedule: { kind: "event", source: "wake", pattern: "x", filters: { k: 1 } } }],
  [{ name: "Later", enabled: false, schedule: { kind: "cron", expr: "0 9 * * *" }, reminder: "Up." }, { enabled: false, schedule: { kind: "cron", expr: "0 9 * * *" }, sessionTarget: "main", payload: { kind: "systemEvent", text: "Up." } }],
])("%j is made as it was proposed", (proposed, job) => {
  expect(made(proposed)).toMatchObject({ name: proposed.name, ...job });
});

const spellings = [
  "18:00", "at 18:00", "today 18:00", "tomorrow 9:00", "Tomorrow at 9:05:30", "20m", "in 20m", "+1h30m", "PT20M", "1795429800000",
  "2026-11-23T07:30", "2026-11-23 07:30:15", "2026-11-23", "2026-11-23T07:30:00+09:00", "2026-11-23T06:30:00Z",
];

test.each(spellings)("a job that fires once at %j opens at the instant that was shown, to the second", (at) => {
  const shown = noon + 1_234_567;
  const proposed = { name: "Stretch", schedule: { kind: "at", at }, reminder: "Up." };
  expect(proposalOf({ arguments: proposed, firesOnceAtMs: shown }, noon).form).toMatchObject({ when: "at", what: "systemEvent", text: "Up." });
  expect(made(proposed, shown)).toMatchObject({ schedule: { kind: "at", atMs: shown } });
  expect(made({ ...proposed, schedule: { kind: "at", at, tz: "Asia/Tokyo" } }, shown)).toMatchObject({ schedule: { kind: "at", atMs: shown, tz: "Asia/Tokyo" } });
});

test.each([...spellings, "soon", 7])("without that instant, %j opens as an empty time that is marked, and as no other schedule", (at) => {
  const { form, unread } = proposalOf({ arguments: { name: "Stretch", schedule: { kind: "at", at, tz: "Asia/Tokyo" }, reminder: "Up." }, firesOnceAtMs: null }, noon);
  expect(form).toMatchObject({ when: "at", at: "", zone: "Asia/Tokyo" });
  expect(unread.map(([field]) => field)).toEqual(["at"]);
});

test.each([
  [{ kind: "every", every: "soon" }, { when: "every", every: null }, "every"],
  [{ kind: "every", every: "1 month" }, { when: "every", every: null }, "every"],
  [{ kind: "cron" }, { when: "cron", expr: "" }, "expr"],
  [{ kind: "later" }, { when: "at", at: "" }, "at"],
  [undefined, { when: "at", at: "" }, "at"],
])("a schedule %j that cannot be read is empty and marked", (schedule, empty, field) => {
  const { draft, form, unread } = proposalOf({ arguments: { name: 7, schedule, call: "no" }, firesOnceAtMs: null }, noon);
  expect(form).toMatchObject({ name: "", what: "systemEvent", text: "", ...empty });
  expect(unread.map(([name]) => name)).toEqual([field]);
  expect(addOf(draft, form, { ...form, when: "at", at: "2026-11-23T07:30", zone: "UTC" }).schedule).toEqual({ kind: "at", at: "2026-11-23T07:30", tz: "UTC" });
});

test("the words of a proposal are the agent's, until the person changes them", () => {
  const { draft, form } = proposalOf({ arguments: { name: "Look", schedule: { kind: "manual" }, message: "Look at https://example.com/" }, firesOnceAtMs: null }, noon);
  expect(addOf(draft, form, { ...form, name: "Mine" })).toMatchObject({ messageBy: { kind: "agent" } });
  expect(addOf(draft, form, { ...form, message: "Look" })).not.toHaveProperty("messageBy");
});
