/* Follows a delivery by its events. Pitfall: the first event may precede the query, so a mount always fetches. */

import { useQuery } from "@tanstack/react-query";

import type { DeliveryState, DeliveryView } from "@/platform";

import { keys } from "./keys";
import { usePlatform } from "./platform";

/** True if the state is final. */
function isSettled(state: DeliveryState): boolean {
  return state === "delivered" || state === "failed" || state === "suppressed";
}

/** Current state of a delivery. */
export function useDelivery(sent: DeliveryView | undefined): DeliveryView | undefined {
  const platform = usePlatform();
  const { data } = useQuery({
    queryKey: keys.delivery(sent?.id),
    queryFn: () => platform.rpc("deliveries.get", { id: sent?.id ?? "" }),
    initialData: sent,
    enabled: sent !== undefined && !isSettled(sent.state),
    staleTime: 0,
  });
  return data;
}
