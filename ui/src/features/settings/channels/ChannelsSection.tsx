/* Channels of messages: list, test, set-up, removal and default channels. */

import { Plus, Send } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { Section } from "@/components/Page";
import { Empty, Failure } from "@/components/Placeholders";
import { useChannels } from "@/data/channels";
import { useJobs } from "@/data/jobs";
import styles from "@/features/settings/Settings.module.css";
import type { ChannelsListResult, ChannelView, ConfigView } from "@/platform";

import { AddChannelDialog } from "./AddChannelDialog";
import { ChannelRow } from "./ChannelRow";
import { DefaultChannels } from "./DefaultChannels";
import { defaultKeys } from "./defaultLists";
import { PairDialog } from "./PairDialog";
import { jobsWith, targetTest, useRemoveChannel } from "./removal";

export function ChannelsSection({ config }: { config: ConfigView }) {
  const { data: list, error, refetch } = useChannels();
  const [isAdding, setAdding] = useState(false);
  const [pairing, setPairing] = useState<string>();
  const [removing, setRemoving] = useState<ChannelView>();
  const [cleanups, setCleanups] = useState<string[]>([]);
  const isEmpty = list?.channels.length === 0;
  // A written list may name a channel that is gone.
  const hasDefaults = list !== undefined && (!isEmpty || defaultKeys.some((key) => config[key] !== null));
  const add = (
    <Button small look={isEmpty ? "quiet" : "ghost"} icon={Plus} onPress={() => setAdding(true)}>
      Add a channel…
    </Button>
  );
  return (
    <Section title="Channels" id="channels" aside={list !== undefined && !isEmpty && add}>
      {error && !list && <Failure title="Could not load channels." error={error} onRetry={() => void refetch()} />}
      {cleanups.length > 0 && <Notice className={styles.warning}>{cleanups.join(" ")}</Notice>}
      {isEmpty && (
        <Empty icon={Send} title="No channels" action={add}>
          A channel carries reports, failures and approval requests to your phone, your mailbox or a chat. Without one,
          you see them on this computer only.
        </Empty>
      )}
      {hasDefaults && (
        <div className={styles.list}>
          {list.channels.map((channel) => (
            <ChannelRow
              key={channel.name}
              channel={channel}
              onPair={() => setPairing(channel.name)}
              onRemove={() => setRemoving(channel)}
            />
          ))}
          <DefaultChannels config={config} list={list} />
        </div>
      )}
      {list && isAdding && (
        <AddChannelDialog
          list={list}
          onClose={() => setAdding(false)}
          onAdded={(name, kind) => {
            setAdding(false);
            if (kind === "telegram") setPairing(name);
          }}
        />
      )}
      {pairing !== undefined && <PairDialog name={pairing} onClose={() => setPairing(undefined)} />}
      {list && removing && (
        <RemoveDialog list={list} channel={removing} onClose={() => setRemoving(undefined)} onRemoved={setCleanups} />
      )}
    </Section>
  );
}

interface RemoveDialogProps {
  list: ChannelsListResult;
  channel: ChannelView;
  onClose: () => void;
  /** Takes the remaining copies of secrets, as sentences. */
  onRemoved: (cleanups: string[]) => void;
}

function RemoveDialog({ list, channel, onClose, onRemoved }: RemoveDialogProps) {
  const { data: jobs = [] } = useJobs();
  const remove = useRemoveChannel();
  const used = jobsWith(jobs, targetTest(list.channels, channel));
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Remove “${channel.name}”?`}
      confirm="Remove"
      danger
      onConfirm={async () => onRemoved(await remove(list, channel))}
    >
      Its settings and secrets are deleted. Messages no longer go there.
      {used.length > 0 && ` These jobs name the channel and lose it: ${used.join(", ")}.`}
    </ConfirmDialog>
  );
}
