/* Connecting a model: each is one method, and names the views that it makes stale. */

import { useQuery } from "@tanstack/react-query";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

/** How often a running pull is looked at. */
const lookEveryMs = 700;

export function useModelPresets() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.modelPresets, queryFn: () => platform.rpc("models.providers", {}), staleTime: 0 });
}

export const useListModels = () => useCall("models.list");
export const useAddModel = () => useCall("models.add", [keys.providers, keys.status, keys.config, keys.secrets]);
export const useTestModel = () => useCall("models.test", [keys.providers, keys.status]);
export const useStartPull = () => useCall("models.pull", [keys.pull]);
export const useCancelPull = () => useCall("models.cancelPull", [keys.pull]);

/** The present pull, looked at again and again while it runs. */
export function usePull() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.pull,
    queryFn: () => platform.rpc("models.pullStatus", {}),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.pull?.state === "running" ? lookEveryMs : false),
  });
}
