/* Whether notifications can be shown here, and a test that says what became of it. */

import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { useCall } from "@/data/actions";
import { usePlatform } from "@/data/platform";
import { deliveryWord } from "@/domain/words";
import type { DeliveryView, SystemStatus } from "@/platform";

import { complaintAbout } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";

/** A delivery has no event of its own that names this page, and is settled within a moment. */
const lookEveryMs = 400;

export function NotificationSection({ status }: { status: SystemStatus | undefined }) {
  const test = useCall("deliveries.test");
  const delivery = useDelivery(test.data);
  const available = status?.notifications.available;
  return (
    <Section title="Notifications">
      <div className={styles.list}>
        <Setting
          title={available === false ? "They cannot be shown here" : "Shown by the system"}
          help={status?.notifications.reason ?? "A run that has something to tell tells it here; a click opens the run."}
        >
          <Button small isPending={test.isPending} onPress={() => test.mutate({})}>
            Send a test
          </Button>
        </Setting>
        <div role="status">
          {test.error && <p className={styles.error}>{complaintAbout("", test.error)}</p>}
          {delivery && <Setting title={`Test: ${deliveryWord(delivery.state).toLocaleLowerCase()}`} help={fateOf(delivery)} />}
        </div>
      </div>
    </Section>
  );
}

function useDelivery(sent: DeliveryView | undefined): DeliveryView | undefined {
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

function fateOf({ state, reason, attempts }: DeliveryView): string {
  switch (state) {
    case "delivered":
      return "The system has taken it. If nothing was to be seen, look at the system’s own notification settings. A click on it leads back here.";
    // A test is never held; a delivery that is says so itself.
    case "held":
    case "pending":
      return attempts > 0 ? `Tried ${attempts === 1 ? "once" : `${attempts} times`}; it will be tried again. ${reason ?? ""}` : "On its way.";
    case "failed":
      return reason ?? "The system did not take it.";
    case "suppressed":
      return reason ?? "It was held back.";
  }
}
