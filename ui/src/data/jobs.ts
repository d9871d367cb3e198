/* The list of jobs, in two parts: the first of them, which is all for most people and enough for whoever shows what comes
   next, and the whole list, read page by page only where it is needed. One could get it wrong by showing the whole list
   while it is still being read over again: it would shrink and grow with every event, so the old one stays until then. */

import { useQuery } from "@tanstack/react-query";

import type { CronListResult, JobView, Platform } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** As many as the gateway hands out at once. */
const atOnce = 500;

/** The first jobs, soonest first. */
export function useFirstJobs() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.firstJobs, queryFn: () => platform.rpc("cron.list", { includeDisabled: true, limit: atOnce }) });
}

/** The jobs that fail, wherever they stand in the list, or were paused for it; `hasMore` when there are others. */
export function useFailingJobs() {
  const platform = usePlatform();
  const { data } = useQuery({ queryKey: keys.failingJobs, queryFn: () => platform.rpc("cron.list", { includeDisabled: true, hasIncident: true, limit: atOnce }) });
  // A job that somebody switched off by hand is known to fail.
  const jobs = data?.jobs.filter((view) => view.incident !== null && (view.job.enabled || view.incident.pausedBecause !== null)) ?? [];
  return { jobs, hasMore: data !== undefined && data.nextCursor !== null };
}

/** All jobs, soonest first. While the list is not whole, what is not in it may yet come. */
export function useJobs() {
  const platform = usePlatform();
  const first = useFirstJobs();
  const hasMore = first.data !== undefined && first.data.nextCursor !== null;
  const all = useQuery({ queryKey: keys.allJobs, queryFn: ({ signal }) => readAll(platform, signal), enabled: hasMore });
  const list = hasMore ? (all.data ?? first.data) : first.data;
  return {
    data: list?.jobs,
    /** Jobs that nobody can read; the first page has all that were met. */
    broken: first.data?.broken ?? [],
    isWhole: list?.nextCursor === null,
    error: first.error ?? all.error,
    refetch: () => void Promise.all(hasMore ? [first.refetch(), all.refetch()] : [first.refetch()]),
  };
}

async function readAll(platform: Platform, signal: AbortSignal): Promise<CronListResult> {
  const jobs = new Map<string, JobView>();
  let cursor: string | null = null;
  do {
    const page: CronListResult = await platform.rpc("cron.list", { includeDisabled: true, limit: atOnce, ...(cursor !== null && { cursor }) });
    signal.throwIfAborted();
    for (const view of page.jobs) {
      // A job that fires between two pages moves behind them both and is met twice, the second time as it is now.
      jobs.delete(view.job.id);
      jobs.set(view.job.id, view);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { jobs: [...jobs.values()], broken: [], nextCursor: null };
}
