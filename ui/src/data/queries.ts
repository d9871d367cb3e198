/* The answers the views ask for. Each is one method under one name; what makes them stale is in events.ts. */

import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { JobDraft, JobView, SystemStatus, WrittenSchedule } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

export function useStatus() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.status, queryFn: () => platform.rpc("system.status", {}) });
}

/** One job; asked only when there is one. */
export function useJob(jobId: string | undefined) {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.job(jobId ?? ""), queryFn: () => platform.rpc("cron.get", { id: jobId ?? "" }), enabled: jobId !== undefined });
}

export function useRun(runId: string) {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.run(runId), queryFn: () => platform.rpc("runs.get", { id: runId }) });
}

export function useProviders() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.providers, queryFn: () => platform.rpc("providers.list", {}) });
}

export function useConfig() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.config, queryFn: () => platform.rpc("config.get", {}) });
}

export function useTools() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.tools, queryFn: async () => (await platform.rpc("tools.catalog", {})).tools });
}

/** The person's commands that are told of runs; how they do is asked again whenever a run may have told them. */
export function useHooks() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.hooks, queryFn: async () => (await platform.rpc("hooks.list", {})).hooks });
}

/** What was spent of late, and the budget of everything. */
export function useSpending() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.spending, queryFn: () => platform.rpc("spending.get", {}) });
}

export function useSecrets() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.secrets, queryFn: () => platform.rpc("secrets.list", {}) });
}

/** The folders of skills, asked again whenever they are looked at: a person changes them with any editor. */
export function useSkills() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.skills, queryFn: () => platform.rpc("skills.list", {}), staleTime: 0 });
}

/** What the model of a job is offered, by the rule that its runs go by; asked only when there is a job. */
export function useEffectiveTools(jobId: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.effectiveTools(jobId),
    queryFn: () => platform.rpc("tools.effective", { id: jobId ?? "" }),
    enabled: jobId !== undefined,
    // A grant that ends by time, and a sandbox that comes or goes, have no event.
    staleTime: 0,
  });
}

/** The same of a job as it stands in a form; the previous answer stays until the next one. */
export function useToolsOfDraft(job: JobDraft | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.toolsOfDraft(job),
    queryFn: () => platform.rpc("tools.effective", { job }),
    enabled: job !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    // A grant that ends by time, and a sandbox that comes or goes, have no event.
    staleTime: 0,
    gcTime: 60_000,
  });
}

/** What the engine would do with a schedule as it stands in a form, of job `id` or of a new one; the previous answer stays until the
    next one. */
export function usePreview(schedule: WrittenSchedule | undefined, id: string | undefined, count = 5) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.preview(schedule, id, count),
    queryFn: () => platform.rpc("cron.preview", { schedule: schedule ?? { kind: "manual" }, id, count }),
    enabled: schedule !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    // "Next" moves with the time.
    staleTime: 30_000,
    gcTime: 60_000,
  });
}

/** What saving the job as it stands in a form would warn of. One that is not whole yet has no answer. */
export function useJobCheck(job: JobDraft) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.check(job),
    queryFn: () => platform.rpc("cron.check", { job }),
    placeholderData: keepPreviousData,
    retry: false,
    // Files and models come and go without an event.
    staleTime: 0,
    gcTime: 60_000,
  });
}

/** What a month of this schedule will probably cost; the runs of a new job are none. */
export function useEstimate(schedule: WrittenSchedule | undefined, id: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.estimate(schedule, id),
    queryFn: () => platform.rpc("cron.estimate", { schedule: schedule ?? { kind: "manual" }, id }),
    enabled: schedule !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 30_000,
    gcTime: 60_000,
  });
}

/** What the desktop around this page offers; nothing in a browser. */
export function useShellInfo() {
  const platform = usePlatform();
  const client = useQueryClient();
  useEffect(() => platform.onShellChanged(() => void client.invalidateQueries({ queryKey: keys.shell })), [platform, client]);
  return useQuery({ queryKey: keys.shell, queryFn: () => platform.shellInfo() });
}

/** The status of the engine that this window is attached to; nothing while it has its own, and in a browser. */
export function useEngineElsewhere(): SystemStatus | undefined {
  const { data: shell } = useShellInfo();
  const { data: status } = useStatus();
  return shell?.engine === "elsewhere" ? status : undefined;
}

/** Jobs asked for their slots of a day; beyond these a job shows its next slot only. */
const mostAsked = 20;
/** Enough for a slot every half an hour, all day. */
const slotsAsked = 50;

export interface Upcoming {
  job: JobView;
  slots: readonly number[];
}

/** The slots until `untilMs` of every job that is due by then. Asked for again when a job's next slot has moved. */
export function useUpcoming(jobs: readonly JobView[], untilMs: number): Upcoming[] {
  const platform = usePlatform();
  const due = jobs.filter(({ job }) => (job.state.nextRunAtMs ?? Infinity) < untilMs);
  const answers = useQueries({
    queries: due.slice(0, mostAsked).map(({ job: { id, schedule, state } }) => ({
      queryKey: keys.upcoming(id, schedule, state.nextRunAtMs),
      queryFn: () => platform.rpc("cron.preview", { schedule, id, count: slotsAsked }),
      gcTime: 60_000,
    })),
  });
  return due.map((job, i) => {
    const asked = answers[i]?.data?.next.map((slot) => slot.atMs) ?? [job.job.state.nextRunAtMs ?? untilMs];
    return { job, slots: asked.filter((at) => at < untilMs) };
  });
}
