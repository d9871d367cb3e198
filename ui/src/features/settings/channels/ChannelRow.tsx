/* Channel with its recipients and state, and a test message with its outcome. */

import { Button } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";
import { MenuButton } from "@/components/Menu";
import { Time } from "@/components/Time";
import { useCall } from "@/data/actions";
import { useDelivery } from "@/data/deliveries";
import { keys } from "@/data/keys";
import { channelState, needsRecipient, testOutcome } from "@/domain/channels";
import { ChannelStateGlyph } from "@/domain/channelState";
import { settingError } from "@/features/settings/configPatch";
import { SettingRow } from "@/features/settings/SettingRow";
import styles from "@/features/settings/Settings.module.css";
import type { ChannelView, ReceivingView } from "@/platform";

interface Props {
  channel: ChannelView;
  onPair: () => void;
  onRemove: () => void;
}

export function ChannelRow({ channel, onPair, onRemove }: Props) {
  const { name, receiving } = channel;
  const paired = channel.recipients.filter(({ isPaired }) => isPaired);
  const unpair = useCall("channels.unpair", [keys.channels]);
  const test = useCall("channels.test", [keys.channels]);
  const delivery = useDelivery(test.data);
  return (
    <SettingRow
      title={name}
      help={
        <>
          <p>{channelFacts(channel)}</p>
          <ChannelStateLine channel={channel} />
          {receiving !== null && <ReceivingLine receiving={receiving} isPaired={paired.length > 0} />}
          <p role="status">{delivery && !test.isPending && <InlineCode text={testOutcome(delivery)} />}</p>
          {unpair.error && (
            <p role="alert" className={styles.error}>
              Not unpaired. <InlineCode text={settingError("", unpair.error)} />
            </p>
          )}
          {test.error && (
            <p role="alert" className={styles.error}>
              Not sent. <InlineCode text={settingError("", test.error)} />
            </p>
          )}
        </>
      }
    >
      {receiving !== null && paired.length === 0 && (
        <Button small look="primary" onPress={onPair} aria-label={`Pair a chat with ${name}…`}>
          Pair your chat…
        </Button>
      )}
      {paired.length > 0 && (
        <MenuButton
          label={`Paired chats of ${name}`}
          entries={[
            { id: "pair", label: "Pair another chat…", onAction: onPair },
            ...paired.map(({ address, label }) => ({
              id: address,
              label: `Unpair ${label}`,
              onAction: () => unpair.mutate({ name, address }),
            })),
          ]}
        >
          <Button small aria-label={`Paired chats of ${name}`}>
            Paired chats
          </Button>
        </MenuButton>
      )}
      <TestButton channel={channel} isPending={test.isPending} onTest={(to) => test.mutate({ name, ...to })} />
      <Button small look="ghost" onPress={onRemove} aria-label={`Remove ${name}…`}>
        Remove…
      </Button>
    </SettingRow>
  );
}

/** `Telegram · Anna, Family · first sentence only`. */
function channelFacts({ kind, label, recipients, details }: ChannelView): string {
  const named = recipients.map((recipient) => recipient.label).join(", ");
  const missing = needsRecipient(kind) ? "no recipient" : "";
  return [label, named || missing, details === "headline" && "first sentence only"].filter(Boolean).join(" · ");
}

/** Whether messages from the chat arrive. */
function ReceivingLine({ receiving, isPaired }: { receiving: ReceivingView; isPaired: boolean }) {
  const { state, sinceMs, problem, ignored } = receiving;
  const strangers = ignored > 0 && ` · ${ignored} ignored from strangers`;
  if (state === "listening")
    return (
      <p>
        Listening to your chat since <Time at={sinceMs} as="within" />
        {strangers}
      </p>
    );
  if (state === "failed")
    return (
      <p className={styles.error}>
        Hears nothing since <Time at={sinceMs} as="within" />: <InlineCode text={problem ?? ""} />
      </p>
    );
  if (state === "connecting") return <p>Connecting to your chat{strangers}</p>;
  return isPaired ? null : <p>No chat is paired: no buttons, no chat.</p>;
}

function ChannelStateLine({ channel }: { channel: ChannelView }) {
  const { kind, newestFailure, lastDeliveredAtMs } = channel;
  const state = channelState(channel);
  const { problem } = channel;
  return (
    <p>
      <ChannelStateGlyph state={state} />
      {state === "ready" && lastDeliveredAtMs !== null && (
        <>
          {" "}
          · last {kind === "whatsapp" ? "accepted by WhatsApp" : "delivered"} <Time at={lastDeliveredAtMs} as="log" />
        </>
      )}
      {state === "failed" && newestFailure !== null && (
        <>
          {" "}
          <Time at={newestFailure.atMs} as="log" />: <InlineCode text={newestFailure.reason} />
        </>
      )}
      {problem !== null && (
        <>
          : <InlineCode text={problem} />
        </>
      )}
    </p>
  );
}

interface TestButtonProps {
  channel: ChannelView;
  isPending: boolean;
  /** Without a recipient, the channel chooses. */
  onTest: (to: { to?: string }) => void;
}

function TestButton({ channel: { name, kind, recipients }, isPending, onTest }: TestButtonProps) {
  const label = `Send a test to ${name}`;
  const isChoice = needsRecipient(kind) && recipients.length > 1;
  const button = (
    <Button
      small
      aria-label={label}
      isPending={isPending}
      isDisabled={needsRecipient(kind) && recipients.length === 0}
      onPress={isChoice ? undefined : () => onTest({})}
    >
      Send a test
    </Button>
  );
  if (!isChoice) return button;
  const entries = recipients.map(({ address, label: text }) => ({
    id: address,
    label: text,
    onAction: () => onTest({ to: address }),
  }));
  return (
    <MenuButton label={label} entries={entries}>
      {button}
    </MenuButton>
  );
}
