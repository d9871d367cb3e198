/* Runs: the newest page is refetched with every event; older pages are fetched once while scrolling. */

import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import type { RunsListParams, RunView } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

const headSize = 50;
const pageSize = 200;
const mostAtOnce = 500;
const everything: RunsListParams = {};

/** Newest page. */
export function useNewestRuns(filter: RunsListParams = everything) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.runsHead(filter),
    queryFn: () => platform.rpc("runs.list", { ...filter, limit: headSize }),
    placeholderData: keepPreviousData,
  });
}

/** Newest runs of a job; disabled without an id. */
export function useRunsOfJob(jobId: string | undefined) {
  const platform = usePlatform();
  const filter: RunsListParams = { jobId };
  return useQuery({
    queryKey: keys.runsHead(filter),
    queryFn: () => platform.rpc("runs.list", { ...filter, limit: headSize }),
    enabled: jobId !== undefined,
  });
}

/** Runs created since `fromMs`, up to one page. */
export function useRunsSince(fromMs: number) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.runsSince(fromMs),
    queryFn: () => platform.rpc("runs.list", { fromMs, limit: mostAtOnce }),
    placeholderData: keepPreviousData,
  });
}

export function useRuns(filter: RunsListParams) {
  const platform = usePlatform();
  const client = useQueryClient();
  const head = useNewestRuns(filter);
  const pages = useInfiniteQuery({
    queryKey: keys.runPages(filter),
    queryFn: ({ pageParam }) => platform.rpc("runs.list", { ...filter, limit: pageSize, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });

  const old = useMemo(() => pages.data?.pages.flatMap((page) => page.runs), [pages.data]);
  const merged = useMemo(() => mergeRuns(head.data?.runs, old), [head.data, old]);
  const torn = merged === undefined && head.data !== undefined && old !== undefined;
  useEffect(() => {
    if (torn) void client.resetQueries({ queryKey: keys.runPages(filter) });
  }, [torn, client, filter]);

  return {
    runs: merged ?? head.data?.runs,
    error: head.error ?? pages.error,
    refetch: () => void Promise.all([head.refetch(), pages.refetch()]),
    total: head.data?.total,
    stale: head.isPlaceholderData,
    more: pages.hasNextPage,
    loadingMore: pages.isFetchingNextPage,
    loadMore: () => {
      if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
    },
  };
}

/** Merges the newest page with older pages; undefined without overlap. */
export function mergeRuns(head: RunView[] | undefined, old: RunView[] | undefined): RunView[] | undefined {
  if (!head || !old) return head;
  const fresh = new Set(head.map((run) => run.id));
  const touching = head.length < headSize || old.length === 0 || old.some((run) => fresh.has(run.id));
  if (!touching) return undefined;
  return [...head, ...old.filter((run) => !fresh.has(run.id))];
}
