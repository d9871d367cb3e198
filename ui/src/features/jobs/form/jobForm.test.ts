import { expect, test } from "vitest";

import type { Job } from "@/platform";
import { aJob, noon } from "@/test/fixtures";

import { newJobDraft, copyJob, jobPatch, isSameDefinition, withoutState } from "./jobChanges";
import { jobDraftFrom, emptyJobForm, jobFormFrom, type JobForm, scheduleFrom } from "./jobForm";

const changed = (job: Job, change: Partial<JobForm>) => {
  const before = jobFormFrom(job, noon);
  return jobPatch(before, { ...before, ...change });
};

const noLength = { amount: null, unit: "minute" } as const;

const full: Job = aJob({
  description: "Why",
  schedule: { kind: "cron", expr: "30 7 * * 1-5", tz: "Europe/Berlin", jitterMs: 5_000 },
  payload: {
    kind: "agentTurn",
    message: "Look",
    model: "m",
    fallbacks: ["n", "ollama:o"],
    tools: ["http"],
    maxSteps: 4,
    deliver: false,
    contextPaths: ["a.md"],
    maxTokens: 9,
    effort: "high",
  },
  policies: {
    misfire: { mode: "runAll", maxLatenessSeconds: 90, limit: 3 },
    overlap: "parallel",
    maxConcurrent: 2,
    timeoutSeconds: 300,
    pauseAfterFailures: 5,
    cooldownSeconds: 60,
    budget: { tokensPerRun: 1_000, tokensPerDay: 9_000, usdPerRun: 0.25, usdPerDay: 1.5 },
    notify: "always",
    deliverTo: ["notification", "phone:7"],
    approvals: "deny",
    approvalSeconds: 90,
    hosts: ["example.com", "api.example.com:8443"],
    folders: ["~/My Notes", "/srv/out:write"],
    sandbox: "open",
  },
  runtime: { maxAttempts: 3, retryBackoffMs: 2_500 },
  deleteAfterRun: true,
}).job;

test("untouched form changes nothing", () => {
  const others = { ...full, "x-mine": { a: 1 }, policies: { ...full.policies, "x-more": true } } as Job;
  const oddSeconds = aJob({ schedule: { kind: "at", atMs: noon + 12_345, tz: "UTC" } }).job;
  const anchored = aJob({
    schedule: { kind: "every", everyMs: 90_000, anchorMs: 7 },
    payload: { kind: "systemEvent", text: "x" },
    sessionTarget: "main",
  }).job;
  for (const job of [full, others, oddSeconds, anchored, aJob({ schedule: { kind: "manual" } }).job])
    expect(changed(job, {})).toBeUndefined();
});

test("form round-trips every job field", () => {
  const draft = jobDraftFrom(jobFormFrom(full, noon));
  expect(draft).toMatchObject({
    description: "Why",
    schedule: full.schedule,
    policies: full.policies,
    runtime: full.runtime,
    deleteAfterRun: true,
  });
  expect(draft.payload).toEqual(full.payload);
});

test("context files and max tokens convert and reset", () => {
  expect(jobFormFrom(full, noon)).toMatchObject({ contextPaths: "a.md", maxTokens: 9, effort: "high" });
  expect(changed(full, { contextPaths: "a.md\n\n my notes/to do.md \n" })).toEqual({
    payload: { contextPaths: ["a.md", "my notes/to do.md"] },
  });
  expect(changed(full, { contextPaths: " \n", maxTokens: null })).toEqual({
    payload: { contextPaths: null, maxTokens: null },
  });
  expect(changed(full, { maxTokens: 2_000 })).toEqual({ payload: { maxTokens: 2_000 } });
});

test("coding agent replaces the fields of a model", () => {
  expect(changed(full, { agent: "claude-code", cwd: " ~/site " })).toEqual({
    payload: {
      agent: "claude-code",
      cwd: "~/site",
      model: null,
      fallbacks: null,
      tools: null,
      maxSteps: null,
      maxTokens: null,
      effort: null,
    },
  });
  const without = { ...emptyJobForm(noon), what: "agentTurn", toolChoice: "none" } as const;
  expect(jobDraftFrom({ ...without, agent: "codex", skills: ["a"], servers: ["b"] }).payload).toEqual({
    kind: "agentTurn",
    message: "",
    agent: "codex",
  });
});

test("folder of a coding agent goes with the agent", () => {
  const payload = { kind: "agentTurn", message: "Look", agent: "claude-code", cwd: "site" } as const;
  const job = aJob({ payload }).job;
  expect(jobFormFrom(job, noon)).toMatchObject({ agent: "claude-code", cwd: "site" });
  expect(changed(job, {})).toBeUndefined();
  expect(changed(job, { agent: "", model: "m" })).toEqual({ payload: { agent: null, cwd: null, model: "m" } });
});

test("folders_with_spaces_and_commas_stay_whole", () => {
  expect(changed(full, { folders: " ~/a b, c:write \n\n/srv/d" })).toEqual({
    policies: { folders: ["~/a b, c:write", "/srv/d"] },
  });
  expect(changed(full, { folders: "" })).toEqual({ policies: { folders: null } });
});

test("hosts split at commas and lines and reset", () => {
  expect(changed(full, { hosts: "a.example, b.example\n\nc.example" })).toEqual({
    policies: { hosts: ["a.example", "b.example", "c.example"] },
  });
  expect(changed(full, { hosts: " \n" })).toEqual({ policies: { hosts: null } });
  expect(changed(full, { approvals: "ask", approvalTime: noLength, sandbox: "required" })).toEqual({
    policies: { approvals: null, approvalSeconds: null, sandbox: null },
  });
});

test("condition and custom quiet hours convert and reset", () => {
  const call = aJob({
    payload: { kind: "toolCall", tool: "http", arguments: {}, notifyWhen: { cel: "result.level < 20" } },
    policies: { quietHours: { from: "21:00", to: "06:30", days: ["fri"] } },
  }).job;
  expect(jobFormFrom(call, noon)).toMatchObject({
    notifyWhen: "condition",
    condition: "result.level < 20",
    quietHours: "custom",
    customQuietHours: { from: "21:00", to: "06:30", days: ["fri"] },
  });
  expect(changed(call, {})).toBeUndefined();
  expect(changed(call, { condition: "result.level < 5" })).toEqual({
    payload: { notifyWhen: { cel: "result.level < 5" } },
  });
  expect(changed(call, { notifyWhen: "failure" })).toEqual({ payload: { notifyWhen: "failure" } });
  expect(changed(call, { quietHours: "ignore" })).toEqual({ policies: { quietHours: "ignore" } });
  expect(changed(call, { quietHours: "respect" })).toEqual({ policies: null });
});

test("imported quiet hours stay whole while other fields change", () => {
  const hours = { from: "21:00", to: "06:30", tz: "Asia/Tokyo", days: ["fri" as const] };
  const imported = aJob({ policies: { quietHours: hours } }).job;
  expect(jobFormFrom(imported, noon)).toMatchObject({ quietHours: "custom", customQuietHours: hours });
  expect(changed(imported, { name: "New" })).toEqual({ name: "New" });
  expect(jobDraftFrom({ ...jobFormFrom(imported, noon), name: "Copy" }).policies).toEqual({ quietHours: hours });
});

test("payload time limit is shown and kept", () => {
  const imported = aJob({ payload: { kind: "agentTurn", message: "Look", timeoutSeconds: 90 } }).job;
  expect(jobFormFrom(imported, noon)).toMatchObject({ timeout: noLength, payloadTimeoutSeconds: 90 });
  expect(changed(imported, { timeout: { amount: 3, unit: "minute" } })).toEqual({ policies: { timeoutSeconds: 180 } });
});

test.each([
  [100, { amount: 100, unit: "second" }],
  [10, { amount: 10, unit: "second" }],
  [90, { amount: 90, unit: "second" }],
  [600, { amount: 10, unit: "minute" }],
  [7_200, { amount: 2, unit: "hour" }],
  [604_800, { amount: 7, unit: "day" }],
] as const)("stored %i seconds show as a whole amount", (seconds, length) => {
  const job = aJob({
    policies: {
      timeoutSeconds: seconds,
      cooldownSeconds: seconds,
      approvalSeconds: seconds,
      misfire: { maxLatenessSeconds: seconds },
    },
  }).job;
  expect(jobFormFrom(job, noon)).toMatchObject({
    timeout: length,
    cooldown: length,
    approvalTime: length,
    latest: length,
  });
  expect(changed(job, {})).toBeUndefined();
});

test.each([
  [{ amount: 10, unit: "second" }, 10],
  [{ amount: 1.5, unit: "minute" }, 90],
  [{ amount: 0.167, unit: "minute" }, 10],
  [{ amount: 1, unit: "day" }, 86_400],
] as const)("duration %j is sent in whole seconds", (length, seconds) => {
  expect(changed(aJob().job, { timeout: length, cooldown: length, approvalTime: length, latest: length })).toEqual({
    policies: {
      timeoutSeconds: seconds,
      cooldownSeconds: seconds,
      approvalSeconds: seconds,
      misfire: { maxLatenessSeconds: seconds },
    },
  });
});

test("only changed keys are sent", () => {
  expect(changed(full, { name: "New" })).toEqual({ name: "New" });
  expect(changed(full, { message: "Search again" })).toEqual({ payload: { message: "Search again" } });
  expect(changed(full, { timeout: { amount: 1, unit: "minute" } })).toEqual({ policies: { timeoutSeconds: 60 } });
  expect(changed(full, { expr: "0 8 * * *" })).toEqual({ schedule: { expr: "0 8 * * *" } });
});

test("emptied and default values are removed", () => {
  expect(changed(full, { description: "", latest: noLength, misfire: "runOnce", toolChoice: "all" })).toEqual({
    description: null,
    policies: { misfire: { mode: null, maxLatenessSeconds: null } },
    payload: { tools: null },
  });
  expect(changed(full, { tokensPerRun: null, usdPerDay: 2 })).toEqual({
    policies: { budget: { tokensPerRun: null, usdPerDay: 2 } },
  });
  expect(changed(full, { tokensPerRun: null, tokensPerDay: null, usdPerRun: null, usdPerDay: null })).toEqual({
    policies: { budget: null },
  });
  expect(changed(full, { fallbacks: "" })).toEqual({ payload: { fallbacks: null } });
  expect(changed(full, { fallbacks: "n,\no" })).toEqual({ payload: { fallbacks: ["n", "o"] } });
});

test("changed kind is sent whole", () => {
  expect(changed(full, { when: "every", every: 2, everyUnit: "hour" })?.schedule).toEqual({
    kind: "every",
    everyMs: 7_200_000,
    jitterMs: 5_000,
  });
  expect(changed(full, { what: "systemEvent", text: "Hi" })).toEqual({
    payload: { kind: "systemEvent", text: "Hi" },
    sessionTarget: "main",
  });
  expect(changed(full, { what: "toolCall", tool: "http", arguments: { url: "u" } })).toEqual({
    payload: { kind: "toolCall", tool: "http", arguments: { url: "u" } },
  });
});

test("removed argument is removed from the job", () => {
  const job = aJob({
    payload: { kind: "toolCall", tool: "http", arguments: { url: "u", headers: { A: "1", B: "2" } } },
  }).job;
  expect(changed(job, { arguments: { url: "u", headers: { B: "2" } } })).toEqual({
    payload: { arguments: { headers: { A: null } } },
  });
});

test("copy keeps unknown keys without identity or history", () => {
  const original = { ...full, "x-mine": 1, createdBy: { kind: "agent", runId: "r1" } } as Job;
  const before = jobFormFrom(copyJob(original), noon);
  const draft = newJobDraft(copyJob(original), before, { ...before, notify: "never" });
  expect(draft).toMatchObject({
    name: `${original.name} copy`,
    "x-mine": 1,
    payload: full.payload,
    policies: { ...full.policies, notify: "never" },
  });
  expect(Object.keys(draft)).not.toEqual(expect.arrayContaining(["id"]));
  expect(draft).not.toHaveProperty("state");
  expect(draft).not.toHaveProperty("createdAtMs");
  expect(draft).not.toHaveProperty("createdBy");
});

test("copy keeps the agent signature until the task changes", () => {
  const agent = { kind: "agent", runId: "r1" };
  for (const original of [
    { ...full, createdBy: agent },
    { ...full, messageBy: agent },
  ] as Job[]) {
    const before = jobFormFrom(copyJob(original), noon);
    expect(newJobDraft(copyJob(original), before, { ...before, notify: "never" })).toMatchObject({ messageBy: agent });
    expect(newJobDraft(copyJob(original), before, { ...before, message: "Mine" })).not.toHaveProperty("messageBy");
  }
  const mine = { ...full, createdBy: agent, messageBy: { kind: "person" } } as Job;
  for (const original of [mine, full]) expect(copyJob(original)).not.toHaveProperty("messageBy");
});

test("undone deletion restores all but engine fields", () => {
  const { state, ...rest } = full;
  expect(state.revision).toBe(1);
  expect(withoutState(full)).toEqual(rest);
});

test("wall time is sent unresolved", () => {
  const at = (wall: string) => scheduleFrom({ ...emptyJobForm(noon), when: "at", at: wall, zone: "Europe/Berlin" });
  expect(at("2026-03-29T02:30")).toEqual({ kind: "at", at: "2026-03-29T02:30", tz: "Europe/Berlin" });
  expect(at("")).toBeUndefined();
});

test("changed time is sent with its zone and resets the instant", () => {
  const job = aJob({ schedule: { kind: "at", atMs: noon + 12_345, tz: "UTC" } }).job;
  expect(changed(job, { zone: "Asia/Tokyo" })).toEqual({
    schedule: { at: "2026-11-21T10:00", tz: "Asia/Tokyo", atMs: null },
  });
  expect(changed(job, { at: "2026-11-22T09:00" })).toEqual({
    schedule: { at: "2026-11-22T09:00", tz: "UTC", atMs: null },
  });
  expect(changed(job, { jitterSeconds: 2 })).toEqual({ schedule: { jitterMs: 2_000 } });
  const before = jobFormFrom(job, noon);
  expect(newJobDraft(copyJob(job), before, { ...before, zone: "Asia/Tokyo" }).schedule).toEqual({
    kind: "at",
    at: "2026-11-21T10:00",
    tz: "Asia/Tokyo",
  });
  expect(newJobDraft(copyJob(job), before, before).schedule).toEqual(job.schedule);
});

test("days and times that no pattern holds are no schedule yet", () => {
  expect(scheduleFrom({ ...emptyJobForm(noon), days: { of: "week", days: [], times: ["09:00"] } })).toBeUndefined();
});

test("engine-written fields do not change the definition", () => {
  expect(
    isSameDefinition(full, {
      ...full,
      enabled: false,
      updatedAtMs: 1,
      state: { ...full.state, revision: 9, lastState: "failed" },
    }),
  ).toBe(true);
  expect(isSameDefinition(full, { ...full, name: "Other" })).toBe(false);
});
