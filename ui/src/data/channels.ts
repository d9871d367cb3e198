/* Channels of messages. Recipients are paired without an event, so the list refetches on every mount. */

import { useQuery } from "@tanstack/react-query";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** Channels by name, default channels and their routes. */
export function useChannels({ enabled = true }: { enabled?: boolean } = {}) {
  const platform = usePlatform();
  return useQuery({
    queryKey: keys.channels,
    queryFn: () => platform.rpc("channels.list", {}),
    enabled,
    staleTime: 0,
  });
}
