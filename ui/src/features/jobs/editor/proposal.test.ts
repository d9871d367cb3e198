import { expect, test } from "vitest";

import { noon } from "@/test/fixtures";

import { newJobDraft } from "@/features/jobs/form/jobChanges";
import { readProposal } from "./proposal";

/** Job created from an unchanged proposal. */
function made(proposed: Record<string, unknown>, firesOnceAtMs: number | null = null) {
  const { draft, form, unread } = readProposal({ arguments: proposed, firesOnceAtMs }, noon);
  expect(unread).toEqual([]);
  return newJobDraft(draft, form, form);
}

test.each([
  [
    {
      name: "Brief",
      description: "Why",
      schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" },
      message: "Look",
      tools: ["read_file", 7],
      notify: "always",
    },
    {
      description: "Why",
      schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: "Look", tools: ["read_file"] },
      policies: { notify: "always" },
    },
  ],
  [
    {
      name: "Site",
      schedule: { kind: "every", every: "1h30m" },
      call: { tool: "http", arguments: { url: "https://example.com" }, notifyWhen: "changed" },
    },
    {
      schedule: { kind: "every", everyMs: 5_400_000 },
      payload: { kind: "toolCall", tool: "http", arguments: { url: "https://example.com" }, notifyWhen: "changed" },
    },
  ],
  [
    { name: "Quiet", schedule: { kind: "manual" }, message: "Look", use_tools: false },
    { schedule: { kind: "manual" }, payload: { useTools: false } },
  ],
  [
    { name: "After", schedule: { kind: "event", source: "wake", pattern: "x", filters: { k: 1 } }, message: "Look" },
    { schedule: { kind: "event", source: "wake", pattern: "x", filters: { k: 1 } } },
  ],
  [
    { name: "Later", enabled: false, schedule: { kind: "cron", expr: "0 9 * * *" }, reminder: "Up." },
    {
      enabled: false,
      schedule: { kind: "cron", expr: "0 9 * * *" },
      sessionTarget: "main",
      payload: { kind: "systemEvent", text: "Up." },
    },
  ],
])("%j becomes a job as proposed", (proposed, job) => {
  expect(made(proposed)).toMatchObject({ name: proposed.name, ...job });
});

const spellings = [
  "18:00",
  "at 18:00",
  "today 18:00",
  "tomorrow 9:00",
  "Tomorrow at 9:05:30",
  "20m",
  "in 20m",
  "+1h30m",
  "PT20M",
  "1795429800000",
  "2026-11-23T07:30",
  "2026-11-23 07:30:15",
  "2026-11-23",
  "2026-11-23T07:30:00+09:00",
  "2026-11-23T06:30:00Z",
];

test.each(spellings)("one-time job at %j opens at the exact instant", (at) => {
  const shown = noon + 1_234_567;
  const proposed = { name: "Stretch", schedule: { kind: "at", at }, reminder: "Up." };
  expect(readProposal({ arguments: proposed, firesOnceAtMs: shown }, noon).form).toMatchObject({
    when: "at",
    what: "systemEvent",
    text: "Up.",
  });
  expect(made(proposed, shown)).toMatchObject({ schedule: { kind: "at", atMs: shown } });
  expect(made({ ...proposed, schedule: { kind: "at", at, tz: "Asia/Tokyo" } }, shown)).toMatchObject({
    schedule: { kind: "at", atMs: shown, tz: "Asia/Tokyo" },
  });
});

test.each([...spellings, "soon", 7])("%j without an instant opens as an empty marked time", (at) => {
  const { form, unread } = readProposal(
    {
      arguments: { name: "Stretch", schedule: { kind: "at", at, tz: "Asia/Tokyo" }, reminder: "Up." },
      firesOnceAtMs: null,
    },
    noon,
  );
  expect(form).toMatchObject({ when: "at", at: "", zone: "Asia/Tokyo" });
  expect(unread.map(([field]) => field)).toEqual(["at"]);
});

test.each([
  [{ kind: "every", every: "soon" }, { when: "every", every: null }, "every"],
  [{ kind: "every", every: "1 month" }, { when: "every", every: null }, "every"],
  [{ kind: "cron" }, { when: "cron", expr: "" }, "expr"],
  [{ kind: "later" }, { when: "at", at: "" }, "at"],
  [undefined, { when: "at", at: "" }, "at"],
])("unreadable schedule %j is empty with an error", (schedule, empty, field) => {
  const { draft, form, unread } = readProposal(
    { arguments: { name: 7, schedule, call: "no" }, firesOnceAtMs: null },
    noon,
  );
  expect(form).toMatchObject({ name: "", what: "systemEvent", text: "", ...empty });
  expect(unread.map(([name]) => name)).toEqual([field]);
  expect(newJobDraft(draft, form, { ...form, when: "at", at: "2026-11-23T07:30", zone: "UTC" }).schedule).toEqual({
    kind: "at",
    at: "2026-11-23T07:30",
    tz: "UTC",
  });
});

test("proposal message belongs to the agent until edited", () => {
  const { draft, form } = readProposal(
    {
      arguments: { name: "Look", schedule: { kind: "manual" }, message: "Look at https://example.com/" },
      firesOnceAtMs: null,
    },
    noon,
  );
  expect(newJobDraft(draft, form, { ...form, name: "Mine" })).toMatchObject({ messageBy: { kind: "agent" } });
  expect(newJobDraft(draft, form, { ...form, message: "Look" })).not.toHaveProperty("messageBy");
});
