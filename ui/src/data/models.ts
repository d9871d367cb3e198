/* Methods for connecting a model. */

import { useQuery } from "@tanstack/react-query";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

const pollMs = 700;

export function useModelPresets() {
  const platform = usePlatform();
  return useQuery({ queryKey: keys.modelPresets, queryFn: () => platform.rpc("models.providers", {}), staleTime: 0 });
}

export const useListModels = () => useCall("models.list");
export const useAddModel = () => useCall("models.add", [keys.providers, keys.status, keys.config, keys.secrets]);
export const useTestModel = () => useCall("models.test", [keys.providers, keys.status]);
export const useStartPull = () => useCall("models.pull", [keys.pull]);
export const useCancelPull = () => useCall("models.cancelPull", [keys.pull]);

/** Current pull, polled while running. */
export function usePull() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.pull,
    queryFn: () => platform.rpc("models.pullStatus", {}),
    staleTime: 0,
    refetchInterval: (query) => (query.state.data?.pull?.state === "running" ? pollMs : false),
  });
}
