/* The names under which answers are kept. Events and mutations make them stale by these names. */

import type { JobDraft, RunsListParams, Schedule, WrittenSchedule } from "@/platform";

export const keys = {
  status: ["status"],
  config: ["config"],
  storage: ["storage"],
  spending: ["spending"],
  estimates: ["estimate"],
  providers: ["providers"],
  tools: ["tools"],
  secrets: ["secrets"],
  skills: ["skills"],
  hooks: ["hooks"],
  shell: ["shell"],
  jobs: ["jobs"],
  firstJobs: ["jobs", "first"],
  allJobs: ["jobs", "all"],
  failingJobs: ["jobs", "failing"],
  eachJob: ["job"],
  job: (id: string) => ["job", id],
  /** Below the job, because they change with it. */
  effectiveTools: (jobId: string | undefined) => ["job", jobId, "tools"],
  toolsOfDrafts: ["toolsOfDraft"],
  toolsOfDraft: (job: JobDraft | undefined) => ["toolsOfDraft", job],
  estimate: (schedule: WrittenSchedule | undefined, id: string | undefined) => ["estimate", schedule, id],
  checks: ["check"],
  check: (job: JobDraft) => ["check", job],
  preview: (schedule: WrittenSchedule | undefined, id: string | undefined, count: number) => ["preview", schedule, id, count],
  runs: ["runs"],
  runsHeads: ["runs", "head"],
  runsHead: (filter: RunsListParams) => ["runs", "head", filter],
  runsSince: (fromMs: number) => ["runs", "since", fromMs],
  upcoming: (id: string, schedule: Schedule, nextRunAtMs: number | undefined) => ["upcoming", id, schedule, nextRunAtMs],
  /** Not below `runs`: old pages do not change with every event. */
  allRunPages: ["runPages"],
  runPages: (filter: RunsListParams) => ["runPages", filter],
  run: (id: string) => ["run", id],
  approvals: ["approvals"],
  openApprovals: ["approvals", "open"],
  newestApprovals: ["approvals", "newest"],
  approval: (id: string) => ["approvals", "one", id],
  grants: ["grants"],
  transcripts: ["transcripts"],
  transcript: (session: string) => ["transcripts", session],
  /** Not below `transcripts`: what was said does not change with events. */
  transcriptPages: (session: string) => ["transcriptPages", session],
} as const;
