/* Installed MCP servers, and changes of them. A server's state changes without an event, so lists refetch on every
   mount, with each run, and while a server starts. */

import { useQuery } from "@tanstack/react-query";

import type { Method, ServerState } from "@/platform";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

const startingRefetchMs = 5_000;

/** Installed MCP servers, by name. */
export function useExtensions() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.extensions,
    queryFn: () => platform.rpc("extensions.list", {}),
    select: ({ extensions }) => extensions,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => refetchDelay(data?.extensions.map(({ state }) => state)),
  });
}

/** Definition, status and tools of a server; disabled without a name. */
export function useExtension(name: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.extension(name ?? ""),
    queryFn: () => platform.rpc("extensions.get", { name: name ?? "" }),
    enabled: name !== undefined,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => refetchDelay(data && [data.status.state]),
  });
}

function refetchDelay(states: readonly ServerState[] = []): number | false {
  return states.includes("starting") && startingRefetchMs;
}

/** Change of a server. The server's tools, grants and jobs change with it. */
export function useExtensionCall<M extends Method & `extensions.${string}`>(method: M) {
  return useCall(method, [
    keys.extensions,
    keys.tools,
    keys.toolsOfDrafts,
    keys.eachJob,
    keys.checks,
    keys.grants,
    keys.secrets,
  ]);
}
