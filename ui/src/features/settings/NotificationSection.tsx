/* Notification availability and test. */

import { Button } from "@/components/Button";
import { Section } from "@/components/Page";
import { useCall } from "@/data/actions";
import { useDelivery } from "@/data/deliveries";
import { canNotify, deliveryLabel, deliveryOutcome } from "@/domain/labels";
import type { SystemStatus } from "@/platform";

import { settingError } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

export function NotificationSection({ status }: { status: SystemStatus | undefined }) {
  const test = useCall("deliveries.test");
  const delivery = useDelivery(test.data);
  const available = status?.notifications.available;
  return (
    <Section title="Notifications" id="notifications">
      <div className={styles.list}>
        <SettingRow
          title={available === false ? "Not available here" : "System notifications"}
          help={status?.notifications.reason ?? "Runs with a result notify you. Clicking a notification opens the run."}
        >
          <Button
            small
            isPending={test.isPending}
            isDisabled={status !== undefined && !canNotify(status.notifications)}
            onPress={() => test.mutate({})}
          >
            Send test
          </Button>
        </SettingRow>
        <div role="status">
          {test.error && <p className={styles.error}>{settingError("", test.error)}</p>}
          {delivery && (
            <SettingRow
              title={`Test: ${deliveryLabel(delivery).toLocaleLowerCase()}`}
              help={deliveryOutcome(delivery)}
            />
          )}
        </div>
      </div>
    </Section>
  );
}
