/* Query keys. */

import type { JobDraft, RunAttachmentParams, RunsListParams, Schedule, WrittenSchedule } from "@/platform";

export const keys = {
  status: ["status"],
  config: ["config"],
  storage: ["storage"],
  backups: ["backups"],
  spending: ["spending"],
  estimates: ["estimate"],
  providers: ["providers"],
  modelPresets: ["providers", "presets"],
  pull: ["pull"],
  tools: ["tools"],
  extensions: ["extensions"],
  extension: (name: string) => ["extensions", "one", name],
  /** Separate from `extensions`: it is polled. */
  installStep: (name: string) => ["installStep", name],
  secrets: ["secrets"],
  mcpAccess: ["mcpAccess"],
  skills: ["skills"],
  hooks: ["hooks"],
  shell: ["shell"],
  jobs: ["jobs"],
  firstJobs: ["jobs", "first"],
  allJobs: ["jobs", "all"],
  failingJobs: ["jobs", "failing"],
  eachJob: ["job"],
  job: (id: string) => ["job", id],
  /** Invalidated with the job. */
  effectiveTools: (jobId: string | undefined) => ["job", jobId, "tools"],
  toolsOfDrafts: ["toolsOfDraft"],
  toolsOfDraft: (job: JobDraft | undefined) => ["toolsOfDraft", job],
  estimate: (schedule: WrittenSchedule | undefined, id: string | undefined) => ["estimate", schedule, id],
  checks: ["check"],
  check: (job: JobDraft) => ["check", job],
  preview: (schedule: WrittenSchedule | undefined, id: string | undefined, count: number) => [
    "preview",
    schedule,
    id,
    count,
  ],
  runs: ["runs"],
  runsHeads: ["runs", "head"],
  runsHead: (filter: RunsListParams) => ["runs", "head", filter],
  runsSince: (fromMs: number) => ["runs", "since", fromMs],
  upcoming: (id: string, schedule: Schedule, nextRunAtMs: number | undefined) => [
    "upcoming",
    id,
    schedule,
    nextRunAtMs,
  ],
  /** Separate from `runs`: older pages do not change with every event. */
  allRunPages: ["runPages"],
  runPages: (filter: RunsListParams) => ["runPages", filter],
  run: (id: string) => ["run", id],
  /** Separate from `run`: a file does not change. */
  attachment: (source: RunAttachmentParams) => ["attachment", source],
  approvals: ["approvals"],
  openApprovals: ["approvals", "open"],
  newestApprovals: ["approvals", "newest"],
  approval: (id: string) => ["approvals", "one", id],
  grants: ["grants"],
  transcripts: ["transcripts"],
  transcript: (session: string) => ["transcripts", session],
  /** Separate from `transcripts`: older pages do not change. */
  transcriptPages: (session: string) => ["transcriptPages", session],
} as const;
