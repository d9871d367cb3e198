/* What a person can do with jobs and runs from anywhere: each is one method, and says what it makes stale so that the
   view does not wait for the event. */

import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

import type { Method, ParamsOf, ResultOf } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** A mutation for any method. Errors are for the caller to show beside what was pressed. */
export function useCall<M extends Method>(method: M, stale: QueryKey[] = []) {
  const platform = usePlatform();
  const client = useQueryClient();
  return useMutation<ResultOf<M>, Error, ParamsOf<M>>({
    mutationFn: (params) => platform.rpc(method, params),
    onSuccess: () => {
      for (const queryKey of stale) void client.invalidateQueries({ queryKey });
    },
  });
}

export const useRunNow = () => useCall("cron.run", [keys.runs, keys.jobs, keys.status]);
export const useCancelRun = () => useCall("runs.cancel", [keys.runs, keys.status]);
export const useRetryRun = () => useCall("runs.retry", [keys.runs, keys.status]);
export const useTry = () => useCall("tools.try", [keys.runs, keys.status]);
export const usePause = () => useCall("cron.pause", [keys.status]);
export const useResume = () => useCall("cron.resume", [keys.status]);
