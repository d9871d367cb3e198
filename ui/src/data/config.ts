/* Changes of the settings. */

import { useMutation, useQueryClient } from "@tanstack/react-query";

import type { ConfigView } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Patches the settings and updates the cache. */
export function usePatch() {
  const platform = usePlatform();
  const client = useQueryClient();
  return async (patch: Record<string, unknown>) => {
    const config = await platform.rpc("config.patch", { patch });
    client.setQueryData<ConfigView>(keys.config, config);
    for (const queryKey of [keys.providers, keys.status, keys.channels]) void client.invalidateQueries({ queryKey });
  };
}

/** Mutation of the settings. Callers show the errors. */
export function usePatchCall() {
  return useMutation({ mutationFn: usePatch() });
}
