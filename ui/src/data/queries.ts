/* Queries, one per method. See events.ts for their invalidation. */

import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type {
  CronPreviewParams,
  JobDraft,
  JobView,
  RunAttachmentParams,
  SystemStatus,
  WrittenSchedule,
} from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

export function useStatus() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.status, queryFn: () => platform.rpc("system.status", {}) });
}

/** Job; disabled without an id. */
export function useJob(jobId: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.job(jobId ?? ""),
    queryFn: () => platform.rpc("cron.get", { id: jobId ?? "" }),
    enabled: jobId !== undefined,
  });
}

export function useRun(runId: string) {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.run(runId), queryFn: () => platform.rpc("runs.get", { id: runId }) });
}

/** File that a call returned. */
export function useAttachment(source: RunAttachmentParams) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.attachment(source),
    queryFn: () => platform.rpc("runs.attachment", source),
    staleTime: Infinity,
  });
}

export function useProviders() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.providers, queryFn: () => platform.rpc("providers.list", {}) });
}

export function useConfig() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.config, queryFn: () => platform.rpc("config.get", {}) });
}

/** Tools, and the tools that are not offered. */
export function useToolCatalog() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.tools, queryFn: () => platform.rpc("tools.catalog", {}) });
}

export function useTools() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.tools,
    queryFn: () => platform.rpc("tools.catalog", {}),
    select: ({ tools }) => tools,
  });
}

/** Hooks and their recent calls. */
export function useHooks() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.hooks, queryFn: async () => (await platform.rpc("hooks.list", {})).hooks });
}

/** Spending and the overall budget. */
export function useSpending() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.spending, queryFn: () => platform.rpc("spending.get", {}) });
}

export function useSecrets() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.secrets, queryFn: () => platform.rpc("secrets.list", {}) });
}

/** Tokens of programs that use Rouse over MCP. A use changes one without an event. */
export function useMcpAccess() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.mcpAccess, queryFn: () => platform.rpc("mcpAccess.list", {}), staleTime: 0 });
}

/** Paired devices. Polled, because a device is paired without an event. */
export function useDevices() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.devices,
    queryFn: () => platform.rpc("devices.list", {}),
    staleTime: 0,
    refetchInterval: 3_000,
  });
}

/** Skills, refetched on every mount because their folders change without an event. */
export function useSkills() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.skills, queryFn: () => platform.rpc("skills.list", {}), staleTime: 0 });
}

/** Effective tools of a stored job. */
export function useEffectiveTools(jobId: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.effectiveTools(jobId),
    queryFn: () => platform.rpc("tools.effective", { id: jobId ?? "" }),
    enabled: jobId !== undefined,
    // Grant expiry and sandbox availability have no event.
    staleTime: 0,
  });
}

/** Effective tools of a draft; keeps the previous result meanwhile. */
export function useToolsOfDraft(job: JobDraft | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.toolsOfDraft(job),
    queryFn: () => platform.rpc("tools.effective", { job }),
    enabled: job !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    // Grant expiry and sandbox availability have no event.
    staleTime: 0,
    gcTime: 60_000,
  });
}

/** Preview of the next runs and channels of a draft; keeps the previous result meanwhile. */
export function usePreview({ schedule, ...rest }: Partial<CronPreviewParams>) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.preview({ schedule, ...rest }),
    queryFn: () => platform.rpc("cron.preview", { schedule: schedule ?? { kind: "manual" }, ...rest }),
    enabled: schedule !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    // The next slots move with time.
    staleTime: 30_000,
    gcTime: 60_000,
  });
}

/** Warnings for a draft. */
export function useJobCheck(job: JobDraft) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.check(job),
    queryFn: () => platform.rpc("cron.check", { job }),
    placeholderData: keepPreviousData,
    retry: false,
    // Files and models change without an event.
    staleTime: 0,
    gcTime: 60_000,
  });
}

/** Monthly cost estimate of a schedule. */
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

/** Desktop shell information; null in a browser. */
export function useShellInfo() {
  const platform = usePlatform();
  const client = useQueryClient();
  useEffect(
    () => platform.onShellChanged(() => void client.invalidateQueries({ queryKey: keys.shell })),
    [platform, client],
  );
  return useQuery({ queryKey: keys.shell, queryFn: () => platform.shellInfo() });
}

/** True if the page can start the app at login: in the app, on the pages of this computer. */
export function useCanStartAtLogin(): boolean {
  const { capabilities } = usePlatform();
  const { data: shell } = useShellInfo();
  return capabilities.autostart && shell?.computer === null;
}

/** Status of a remote engine that this window is attached to; undefined otherwise. */
export function useAttachedEngine(): SystemStatus | undefined {
  const { data: shell } = useShellInfo();
  const { data: status } = useStatus();
  return shell?.engine === "elsewhere" ? status : undefined;
}

/** Limit of jobs with fetched slots of the day; further jobs show only the next slot. */
const maxJobsAsked = 20;
/** A slot every half hour. */
const maxSlotsPerJob = 50;

export interface Upcoming {
  job: JobView;
  slots: readonly number[];
}

/** Slots of due jobs until `untilMs`. */
export function useUpcoming(jobs: readonly JobView[], untilMs: number): Upcoming[] {
  const platform = usePlatform();
  const due = jobs.filter(({ job }) => (job.state.nextRunAtMs ?? Infinity) < untilMs);
  const answers = useQueries({
    queries: due.slice(0, maxJobsAsked).map(({ job: { id, schedule, state } }) => ({
      queryKey: keys.upcoming(id, schedule, state.nextRunAtMs),
      queryFn: () => platform.rpc("cron.preview", { schedule, id, count: maxSlotsPerJob }),
      gcTime: 60_000,
    })),
  });
  return due.map((job, i) => {
    const times = answers[i]?.data?.next.map((slot) => slot.atMs) ?? [job.job.state.nextRunAtMs ?? untilMs];
    return { job, slots: times.filter((at) => at < untilMs) };
  });
}
