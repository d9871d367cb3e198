/* Built tools: the versions, one version with its files, and changes of them. An installation is a change of
   extensions. */

import { useQuery } from "@tanstack/react-query";

import { useCall } from "./actions";
import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Newest version of each built tool, and its accepted version; the version checked last first. */
export function useToolBuilds() {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.toolBuilds,
    queryFn: () => platform.rpc("tools.builds", {}),
    select: ({ builds }) => builds,
    // An extension is removed without an event.
    staleTime: 0,
  });
}

/** Version with its files; without a hash the version checked last. */
export function useToolBuild(name: string, hash: string | undefined) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.toolBuild(name, hash),
    queryFn: () => platform.rpc("tools.source", { name, ...(hash !== undefined && { hash }) }),
    // The draft and the installation change without an event.
    staleTime: 0,
  });
}

export const useBuildTool = () => useCall("tools.build", [keys.runs, keys.jobs, keys.status]);
/** Records the check of a person as a version. */
export const useCheckFolder = () => useCall("tools.check", [keys.toolBuilds]);
export const useRemoveBuilds = () => useCall("tools.removeBuilds", [keys.toolBuilds]);
