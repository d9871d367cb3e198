/* The conversation with the main session. It is read from its newest end, more of it on request; the words of an answer that
   is still being written come with the events and are laid over what was read. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

/** What fits on a screen or two; the engine hands out no more than ten times as many. */
const atFirst = 50;
const atMost = 500;

export function useTranscript() {
  const platform = usePlatform();
  const [limit, setLimit] = useState(atFirst);
  const query = useQuery({
    queryKey: keys.transcript(limit),
    queryFn: () => platform.rpc("sessions.get", { key: "main", limit }),
    placeholderData: keepPreviousData,
  });
  const hasEarlier = query.data?.nextCursor != null;
  return {
    data: query.data,
    error: query.error,
    refetch: () => void query.refetch(),
    /** Reads more; nothing when there is no more, or when as much is shown as there can be. */
    showEarlier: hasEarlier && limit < atMost ? () => setLimit(Math.min(atMost, limit * 3)) : undefined,
    isCut: hasEarlier && limit >= atMost,
  };
}

export const useSend = () => useCall("chat.send", [keys.transcripts, keys.status]);
export const useStopAnswer = () => useCall("chat.abort", [keys.transcripts, keys.runs, keys.status]);
