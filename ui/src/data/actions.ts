/* Mutations on jobs and runs, each with the invalidated queries. */

import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";

import type { Method, ParamsOf, ResultOf } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Mutation for any method. Callers show the errors. */
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
export const useTryTool = () => useCall("tools.try", [keys.runs, keys.status]);
export const usePause = () => useCall("cron.pause", [keys.status]);
export const useResume = () => useCall("cron.resume", [keys.status]);
