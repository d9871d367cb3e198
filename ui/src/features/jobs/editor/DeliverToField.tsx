/* Channels of a job; hidden while none is set up or chosen. */

import { GroupFoot } from "@/components/Field";
import { useChannels } from "@/data/channels";
import { ChannelChoice } from "@/domain/ChannelChoice";

import { useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

const label = "Deliver to";

export function DeliverToField() {
  const { value: chosen, error, warning, onChange } = useJobField("deliverTo");
  const { data } = useChannels();
  const channels = data?.channels ?? [];
  if (data === undefined || (channels.length === 0 && chosen.length === 0)) return null;
  return (
    <div className={styles.group}>
      <span className={styles.label} aria-hidden>
        {label}
      </span>
      <ChannelChoice
        label={label}
        channels={channels}
        chosen={chosen}
        none="The channels of the settings"
        onChange={onChange}
      />
      <p className={styles.note}>Reports and failures. Approval requests go to the channels of the settings.</p>
      <GroupFoot error={error} warning={warning} />
    </div>
  );
}
