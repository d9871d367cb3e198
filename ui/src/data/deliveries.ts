/* Polls a delivery until settled. */

import { useQuery } from "@tanstack/react-query";

import type { DeliveryView } from "@/platform";

import { usePlatform } from "./platform";

/** Deliveries have no event of their own. */
const pollMs = 400;

/** Current state of a delivery. */
export function useDelivery(sent: DeliveryView | undefined): DeliveryView | undefined {
  const platform = usePlatform();
  const { data } = useQuery({
    queryKey: ["delivery", sent?.id],
    queryFn: () => platform.rpc("deliveries.get", { id: sent?.id ?? "" }),
    initialData: sent,
    enabled: sent?.state === "pending",
    refetchInterval: (query) => (query.state.data?.state === "pending" ? pollMs : false),
  });
  return data;
}
