import { expect, test } from "vitest";

import { noon } from "@/test/fixtures";

import { draftOf } from "./form";
import { durationOf, formOfProposal } from "./proposal";

test.each([
  [{ name: "Stretch", schedule: { kind: "at", at: "20m" }, reminder: "Stand up." }, { schedule: { kind: "at", atMs: noon + 1_200_000 }, payload: { kind: "systemEvent", text: "Stand up." }, sessionTarget: "main" }],
  [{ name: "Stretch", schedule: { kind: "at", at: "2026-11-23T07:30", tz: "UTC" }, reminder: "Up." }, { schedule: { kind: "at", atMs: Date.UTC(2026, 10, 23, 7, 30) } }],
  [
    { name: "Brief", description: "Why", schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" }, message: "Look", tools: ["read_file", 7], notify: "always" },
    { description: "Why", schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "UTC" }, payload: { kind: "agentTurn", message: "Look", tools: ["read_file"] }, policies: { notify: "always" } },
  ],
  [{ name: "Site", schedule: { kind: "every", every: "1h30m" }, call: { tool: "http", arguments: { url: "https://example.com" } } }, { schedule: { kind: "every", everyMs: 5_400_000 }, payload: { kind: "toolCall", tool: "http", arguments: { url: "https://example.com" } } }],
  [{ name: "Quiet", schedule: { kind: "manual" }, message: "Look", use_tools: false }, { schedule: { kind: "manual" }, payload: { useTools: false } }],
  [{ name: "After", schedule: { kind: "event", source: "wake", pattern: "x" }, message: "Look" }, { schedule: { kind: "event", source: "wake", pattern: "x" } }],
])("%j opens as the job that it proposes", (proposed, job) => {
  expect(draftOf(formOfProposal(proposed, noon))).toMatchObject({ name: proposed.name, ...job });
});

test("what cannot be read is left as a new job has it", () => {
  const form = formOfProposal({ name: 7, schedule: { kind: "at", at: "soon" }, call: "no" }, noon);
  expect(form).toMatchObject({ name: "", when: "days", what: "systemEvent", text: "" });
});

test.each([["20m", 1_200_000], ["1h 30 min", 5_400_000], ["2 days", 172_800_000], ["07:30", undefined], ["", undefined], ["0m", undefined], [7, undefined]])("%j lasts %j", (written, ms) => {
  expect(durationOf(written)).toBe(ms);
});
