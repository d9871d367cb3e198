/* Jobs: the first page, and the full list read page by page where needed. Keeps the old list while reloading. */

import { useQuery } from "@tanstack/react-query";

import type { CronListResult, JobView, Platform } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Maximum of the gateway. */
const pageSize = 500;

/** First page, soonest first. */
export function useFirstJobs() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.firstJobs,
    queryFn: () => platform.rpc("cron.list", { includeDisabled: true, limit: pageSize }),
  });
}

/** Failing jobs, and jobs paused for failing. */
export function useFailingJobs() {
  const platform = usePlatform();
  const { data } = useQuery({
    queryKey: keys.failingJobs,
    queryFn: () => platform.rpc("cron.list", { includeDisabled: true, hasIncident: true, limit: pageSize }),
  });
  // Excludes failing jobs that the user paused.
  const jobs =
    data?.jobs.filter((view) => view.incident !== null && (view.job.enabled || view.incident.pausedBecause !== null)) ??
    [];
  return { jobs, hasMore: data !== undefined && data.nextCursor !== null };
}

/** All jobs, soonest first; incomplete until `isWhole`. */
export function useJobs() {
  const platform = usePlatform();
  const first = useFirstJobs();
  const hasMore = first.data !== undefined && first.data.nextCursor !== null;
  const all = useQuery({
    queryKey: keys.allJobs,
    queryFn: ({ signal }) => readAllJobs(platform, signal),
    enabled: hasMore,
  });
  const list = hasMore ? (all.data ?? first.data) : first.data;
  return {
    data: list?.jobs,
    /** Unreadable jobs, listed by the first page. */
    broken: first.data?.broken ?? [],
    isWhole: list?.nextCursor === null,
    error: first.error ?? all.error,
    refetch: () => void Promise.all(hasMore ? [first.refetch(), all.refetch()] : [first.refetch()]),
  };
}

/** Reads every job, page by page. */
export async function readAllJobs(platform: Platform, signal?: AbortSignal): Promise<CronListResult> {
  const jobs = new Map<string, JobView>();
  let cursor: string | null = null;
  do {
    const page: CronListResult = await platform.rpc("cron.list", {
      includeDisabled: true,
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    });
    signal?.throwIfAborted();
    for (const view of page.jobs) {
      // A job that fires between two pages occurs twice; the later view wins.
      jobs.delete(view.job.id);
      jobs.set(view.job.id, view);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { jobs: [...jobs.values()], broken: [], nextCursor: null };
}
