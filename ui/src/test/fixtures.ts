/* Jobs, runs and a status as the gateway sends them. */

import type {
  ApprovalView,
  ChannelsListResult,
  ChannelView,
  ConfigView,
  CronPreviewResult,
  DeliveryView,
  GrantView,
  IncidentView,
  Job,
  MessageRoutes,
  MessageView,
  RunDetail,
  RunView,
  SavedJob,
  ShellInfo,
  StepView,
  SystemStatus,
  ToolView,
} from "@/platform";

import { noon } from "./noon";

export { noon } from "./noon";
export * from "./extensionFixtures";
export * from "./toolBuildFixtures";

const notificationOnly: MessageRoutes = {
  reports: ["notification"],
  failures: ["notification"],
  approvals: ["notification"],
};

type JobParts = Partial<Omit<Job, "state">> & { state?: Partial<Job["state"]> };

export function aJob(parts: JobParts = {}, view: Partial<Omit<SavedJob, "job">> = {}): SavedJob {
  const { state, ...rest } = parts;
  return {
    job: {
      id: "job-1",
      name: "Backup",
      enabled: true,
      createdAtMs: noon,
      updatedAtMs: noon,
      schedule: { kind: "cron", expr: "0 14 * * *", tz: "UTC" },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "toolCall", tool: "http", arguments: {} },
      ...rest,
      state: { consecutiveFailures: 0, revision: 1, ...state },
    },
    scheduleText: "Daily at 14:00",
    zone: "UTC",
    recent: [],
    liveRunIds: [],
    incident: null,
    isPredecessorMissing: false,
    spentThisMonth: { tokens: 0, costMicroUsd: 0, unpricedTokens: 0 },
    routes: notificationOnly,
    warnings: [],
    ...view,
  };
}

export function aPreview(parts: Partial<CronPreviewResult> = {}): CronPreviewResult {
  return {
    text: "",
    zone: "UTC",
    localZone: "UTC",
    next: [],
    notes: [],
    routes: notificationOnly,
    routeProblem: null,
    ...parts,
  };
}

/** Telegram channel `phone` with the recipient Anna. */
export function aChannel(parts: Partial<ChannelView> = {}): ChannelView {
  return {
    name: "phone",
    kind: "telegram",
    label: "Telegram",
    details: "full",
    recipients: [{ address: "7", label: "Anna", isPrivate: true, isPaired: false }],
    problem: null,
    receiving: null,
    newestFailure: null,
    lastDeliveredAtMs: null,
    ...parts,
  };
}

export function aChannelList(parts: Partial<ChannelsListResult> = {}): ChannelsListResult {
  return {
    channels: [],
    deliverTo: notificationOnly,
    written: { deliverTo: null, deliverFailuresTo: null, deliverApprovalsTo: null },
    last: "notification",
    isHeadless: false,
    ...parts,
  };
}

/** Pending delivery of a notification. */
export function aDelivery(parts: Partial<DeliveryView> = {}): DeliveryView {
  return {
    id: "d",
    runId: "run-1",
    channel: "notification",
    channelKind: null,
    to: null,
    title: "Backup",
    body: "",
    state: "pending",
    attempts: 0,
    reason: null,
    createdAtMs: noon,
    nextAttemptAtMs: null,
    settledAtMs: null,
    heldUntilMs: null,
    digestId: null,
    ...parts,
  };
}

export function anIncident(parts: Partial<IncidentView> = {}): IncidentView {
  return {
    cause: "no network",
    openedAtMs: noon,
    count: 14,
    firstRunId: "run-1",
    lastRunId: "run-2",
    lastAtMs: noon,
    pausedBecause: null,
    ...parts,
  };
}

export const noUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, costMicroUsd: null };

export function aRun(parts: Partial<RunView> = {}): RunView {
  return {
    id: "run-1",
    jobId: "job-1",
    jobName: "Backup",
    slotAtMs: noon,
    trigger: "schedule",
    state: "succeeded",
    reason: null,
    firstSlotAtMs: null,
    catchUpSlotAtMs: null,
    slotCount: 1,
    createdAtMs: noon,
    startedAtMs: noon,
    finishedAtMs: noon + 1_000,
    lateByMs: 0,
    durationMs: 1_000,
    attempt: 1,
    nextAttemptAtMs: null,
    waitsFor: null,
    retryOf: null,
    summary: null,
    error: null,
    session: null,
    model: null,
    fallbackReason: null,
    usage: noUsage,
    ...parts,
  };
}

export function aDetail(run: Partial<RunView> = {}, parts: Partial<Omit<RunDetail, "run">> = {}): RunDetail {
  return {
    run: aRun(run),
    payload: {},
    steps: [],
    deliveries: [],
    approvals: [],
    cause: null,
    jobExists: true,
    liveText: null,
    ...parts,
  };
}

export function aStep(parts: Partial<StepView> = {}): StepView {
  return {
    seq: 1,
    kind: "toolCall",
    name: "http",
    status: "finished",
    input: {},
    output: null,
    isError: false,
    usage: noUsage,
    startedAtMs: noon,
    durationMs: 5,
    gate: null,
    gateText: null,
    ...parts,
  };
}

/** Pending approval, requested a minute before `noon`, open for half an hour. */
export function anApproval(parts: Partial<ApprovalView> = {}): ApprovalView {
  return {
    id: "ask-1",
    runId: "run-1",
    jobId: "job-1",
    jobName: "Weekly notes",
    tool: "write_file",
    toolLabel: null,
    arguments: { path: "notes/today.md", content: "dentist\n" },
    directory: "/home/ada/workspace",
    files: [],
    replacedFiles: ["notes/today.md"],
    firesOnceAtMs: null,
    preview: "--- notes/today.md\n+++ notes/today.md\n@@ -1 +1 @@\n-nothing\n+dentist\n",
    requestReason: "write_file changes files, and this job has no grant for it.",
    isHighest: false,
    shellText: [],
    noGrantReason: null,
    requestedAtMs: noon - 60_000,
    expiresAtMs: noon + 29 * 60_000,
    state: "pending",
    scope: null,
    reason: null,
    decidedAtMs: null,
    decidedFrom: null,
    decidedBy: null,
    blockedWork: {
      text: "Only this run. Later runs of the job are not blocked.",
      otherApprovals: 0,
      followers: [],
      laterRuns: 0,
    },
    input: null,
    agent: null,
    inputAnswer: null,
    ...parts,
  };
}

/** Pending permission request of the coding agent `claude-code`. */
export function aPermission(parts: Partial<ApprovalView> = {}): ApprovalView {
  return anApproval({
    tool: "delegate",
    toolLabel: "Delegate to a coding agent",
    agent: "claude-code",
    arguments: { agent: "claude-code", task: "Add a note about the dentist." },
    replacedFiles: [],
    preview:
      "Edit today.md\nnotes/today.md\n\nInput:\n{}\n\n--- notes/today.md\n+++ notes/today.md\n@@ -1 +1 @@\n-nothing\n+dentist\n",
    requestReason: "The coding agent claude-code asks for your permission.",
    noGrantReason: "A permission of a coding agent counts for its task only, so it cannot be granted.",
    ...parts,
  });
}

export function aGrant(parts: Partial<GrantView> = {}): GrantView {
  return {
    id: "grant-1",
    jobId: "job-1",
    jobName: "Weekly notes",
    tool: "write_file",
    covers: { kind: "exact", arguments: { path: "notes/today.md" } },
    createdAtMs: noon,
    expiresAtMs: null,
    usesLeft: null,
    used: 0,
    revokedAtMs: null,
    isValid: true,
    voidReason: null,
    ...parts,
  };
}

export function aMessage(parts: Partial<MessageView> = {}): MessageView {
  return {
    id: 1,
    runId: null,
    atMs: noon,
    from: "model",
    text: "",
    calls: [],
    callId: null,
    tool: null,
    isError: false,
    summarizedMessages: null,
    ...parts,
  };
}

export function aTool(parts: Partial<ToolView> = {}): ToolView {
  return {
    name: "http",
    label: null,
    description: "Fetches a URL. More is said to the model.",
    parameters: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    approval: "unlessGranted",
    domain: "inProcess",
    callsPerMinute: 30,
    callsPerHour: 500,
    readOnly: false,
    destructive: false,
    idempotent: false,
    openWorld: true,
    readsUntrusted: true,
    attendedOnly: false,
    canBeTried: true,
    unavailableReason: null,
    origin: null,
    ...parts,
  };
}

/** Tool of the server `cal`. */
export function aServerTool(rawName: string, parts: Partial<ToolView> = {}): ToolView {
  return aTool({
    name: `cal_${rawName}`,
    description: `${rawName} of the calendar.`,
    callsPerMinute: 60,
    callsPerHour: 1_000,
    origin: { extension: "cal", rawName, version: "Calendar 1.2.0", hash: "ab".repeat(32) },
    ...parts,
  });
}

export function aConfig(parts: Partial<ConfigView> = {}): ConfigView {
  return {
    path: "/home/ada/config.toml",
    revision: "r1",
    changedByHand: false,
    problem: null,
    unknownKeys: [],
    unmetSettings: [],
    pendingRestart: [],
    cron: { enabled: true, maxConcurrentRuns: 2 },
    system: { keepAwake: false },
    tools: { readFileMaxBytes: 524_288, maxSteps: 10, runCommandTimeoutMs: 600_000, allowPrivateHosts: [] },
    search: { provider: null, url: null, keyEnv: null, keySecret: null },
    registries: { servers: null, skills: null },
    computers: {},
    deliverTo: null,
    deliverFailuresTo: null,
    deliverApprovalsTo: null,
    gateway: { port: 7717, names: [] },
    heartbeat: { enabled: true, everyMs: 1_800_000, activeHours: null, prompt: null, skills: [], model: null },
    quietHours: null,
    model: { provider: null, name: null, patienceSeconds: 900, providers: [] },
    workspace: "/home/ada/Rouse",
    riskyWorkspace: { enabled: false, root: null },
    retention: { runsPerJob: 2000, messagesPerSession: 2000, maxDatabaseMb: 1024 },
    budget: { tokensPerDay: null, usdPerDay: null },
    prices: { listedOn: "2026-10-07", own: [] },
    overridden: [],
    ...parts,
  };
}

type StatusParts = Partial<Omit<SystemStatus, "cron">> & { cron?: Partial<SystemStatus["cron"]> };

export function aStatus({ cron, ...parts }: StatusParts = {}): SystemStatus {
  return {
    version: "0.1.0",
    mode: "serve",
    pid: 1,
    nowMs: noon,
    startedAtMs: noon,
    zone: "UTC",
    zoneData: { version: "2026a", folder: "/usr/share/zoneinfo" },
    home: "/home/ada",
    seq: 1,
    heartbeat: {
      enabled: true,
      everyMs: 1_800_000,
      activeHours: null,
      nextAtMs: null,
      lastSkipReason: null,
      lastSkip: null,
      queuedEvents: 0,
      pending: null,
      lastRequest: null,
      untrustedList: null,
    },
    model: null,
    isModelUntested: false,
    failingModels: [],
    notifications: { available: true, reason: null, failing: false },
    firstStart: { dismissed: true, exampleJobId: null, exampleRunId: null },
    problem: null,
    ...parts,
    cron: {
      enabled: true,
      offReason: null,
      problem: null,
      pause: null,
      next: null,
      running: 0,
      betweenAttempts: 0,
      queued: 0,
      maxConcurrentRuns: 2,
      jobs: 0,
      enabledJobs: 0,
      failingJobs: 0,
      ...cron,
    },
  };
}

/** Shell of the app's window. */
export function aShell(shell: Partial<ShellInfo> = {}): ShellInfo {
  return { tray: true, engine: "here", computer: null, computers: [], ...shell };
}
