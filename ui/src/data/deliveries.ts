/* One delivery, followed until it is settled. */

import { useQuery } from "@tanstack/react-query";

import type { DeliveryView } from "@/platform";

import { usePlatform } from "./platform";

/** A delivery has no event of its own that names a page, and is settled within a moment. */
const lookEveryMs = 400;

/** What has become of a delivery since it was sent. */
export function useDelivery(sent: DeliveryView | undefined): DeliveryView | undefined {
  const platform = usePlatform();
  const { data } = useQuery({
    queryKey: ["delivery", sent?.id],
    queryFn: () => platform.rpc("deliveries.get", { id: sent?.id ?? "" }),
    initialData: sent,
    enabled: sent?.state === "pending",
    refetchInterval: (query) => (query.state.data?.state === "pending" ? lookEveryMs : false),
  });
  return data;
}
