/* Transcripts. The newest page is refetched with every event; older pages are fetched once, on request. Live text
   arrives by events. Pitfall: pages that do not overlap, or that belong to a cleared session, must not be merged. */

import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import type { MessageView } from "@/platform";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Key of the main session. */
export const mainSession = "main";

export function sessionOfJob(jobId: string): string {
  return `cron:${jobId}`;
}

const headSize = 50;
const pageSize = 200;

export function useTranscript(session: string) {
  const platform = usePlatform();
  const client = useQueryClient();
  const [wantsEarlier, setWantsEarlier] = useState(false);
  const head = useQuery({
    queryKey: keys.transcript(session),
    queryFn: () => platform.rpc("sessions.get", { key: session, limit: headSize }),
  });
  const pages = useInfiniteQuery({
    queryKey: keys.transcriptPages(session),
    queryFn: ({ pageParam }) => platform.rpc("sessions.get", { key: session, limit: pageSize, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    enabled: wantsEarlier,
    staleTime: Infinity,
  });
  const old = useMemo(() => pages.data?.pages.toReversed().flatMap(({ messages }) => messages), [pages.data]);
  const newest = head.data?.messages;
  const wasCleared =
    head.data !== undefined &&
    pages.data !== undefined &&
    head.data.session?.createdAtMs !== pages.data.pages[0]?.session?.createdAtMs;
  const merged = useMemo(() => (wasCleared ? undefined : mergeMessages(newest, old)), [wasCleared, newest, old]);
  const torn = merged === undefined && newest !== undefined && old !== undefined;
  useEffect(() => {
    if (torn) void client.resetQueries({ queryKey: keys.transcriptPages(session) });
  }, [torn, client, session]);

  const hasEarlier = pages.data ? pages.hasNextPage : head.data?.nextCursor != null;
  return {
    data: head.data && { ...head.data, messages: merged ?? head.data.messages },
    error: head.error ?? pages.error,
    refetch: () => void Promise.all([head.refetch(), ...(wantsEarlier ? [pages.refetch()] : [])]),
    isLoadingEarlier: pages.isFetching,
    /** Loads the next page; undefined at the beginning. */
    showEarlier: hasEarlier ? () => (pages.data ? void pages.fetchNextPage() : setWantsEarlier(true)) : undefined,
  };
}

/** Merges the newest page with older pages; undefined without overlap. */
export function mergeMessages(
  newest: MessageView[] | undefined,
  old: MessageView[] | undefined,
): MessageView[] | undefined {
  if (!newest || !old) return newest;
  const [first] = newest;
  const last = old.at(-1);
  if (first === undefined || last === undefined) return newest;
  if (newest.length >= headSize && last.id < first.id) return undefined;
  return [...old.filter(({ id }) => id < first.id), ...newest];
}

export const useSend = () => useCall("chat.send", [keys.transcripts, keys.status]);
export const useClear = () => useCall("sessions.clear", [keys.transcripts]);
export const useStopAnswer = () => useCall("chat.abort", [keys.transcripts, keys.runs, keys.status]);
