/* Whether notifications can be shown here, and a test that says what became of it. */

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { useCall } from "@/data/actions";
import { useDelivery } from "@/data/deliveries";
import { canNotify, deliveryWord, fateOf } from "@/domain/words";
import type { SystemStatus } from "@/platform";

import { complaintAbout } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";

export function NotificationSection({ status }: { status: SystemStatus | undefined }) {
  const test = useCall("deliveries.test");
  const delivery = useDelivery(test.data);
  const available = status?.notifications.available;
  return (
    <Section title="Notifications" id="notifications">
      <div className={styles.list}>
        <Setting
          title={available === false ? "They cannot be shown here" : "Shown by the system"}
          help={status?.notifications.reason ?? "A run that has something to tell tells it here; a click opens the run."}
        >
          <Button small isPending={test.isPending} isDisabled={status !== undefined && !canNotify(status.notifications)} onPress={() => test.mutate({})}>
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
