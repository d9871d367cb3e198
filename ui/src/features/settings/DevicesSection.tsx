/* Paired browsers and phones. A pairing code is shown once, with its time left. */

import { Plus } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Segmented } from "@/components/Choice";
import { Code } from "@/components/Code";
import { TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { ConfirmDialog, Modal } from "@/components/Modal";
import { Section } from "@/components/Page";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { useNow } from "@/components/useNow";
import { useDevice } from "@/data/access";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useDevices } from "@/data/queries";
import { scopeEffect, scopeLabels } from "@/domain/deviceScope";
import { toSentence } from "@/format/text";
import { showOneLine } from "@/format/visible";
import { type DevicePairing, type DeviceScope, type DeviceView, fieldErrors } from "@/platform";

import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";

const scopes = [
  { id: "read", label: "Read" },
  { id: "approve", label: "Approve" },
  { id: "write", label: "Write" },
] as const;

export function DevicesSection() {
  const { data, error, refetch } = useDevices();
  const [isPairing, setPairing] = useState(false);
  const [revoking, setRevoking] = useState<DeviceView>();
  const revoke = useCall("devices.revoke", [keys.devices]);
  return (
    <Section
      title="Devices"
      id="devices"
      aside={
        <Button small look="ghost" icon={Plus} onPress={() => setPairing(true)}>
          Pair a device
        </Button>
      }
    >
      <p className={styles.how}>
        A phone or another browser can use these pages. It has a key of its own and never changes settings or secrets.
      </p>
      {error && !data && <Failure title="Could not load devices." error={error} onRetry={() => void refetch()} />}
      {!error && !data && <SkeletonRows rows={1} height={52} />}
      {data && (
        <div className={styles.list}>
          {data.devices.length === 0 && (
            <SettingRow
              title="No devices"
              help={
                data.names.length === 0 ? (
                  <InlineCode text="A phone needs a name for this computer: set `gateway.names` in the settings file, then restart Rouse." />
                ) : (
                  `Reachable as ${data.names.join(", ")}.`
                )
              }
            />
          )}
          {data.devices.map((device) => (
            <SettingRow key={device.id} title={showOneLine(device.name)} help={<About device={device} />}>
              <Button
                small
                look="ghost"
                onPress={() => setRevoking(device)}
                aria-label={`Revoke ${showOneLine(device.name)}`}
              >
                Revoke
              </Button>
            </SettingRow>
          ))}
        </div>
      )}
      {isPairing && <PairDevice known={data?.devices.length ?? 0} onClose={() => setPairing(false)} />}
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={`Revoke “${showOneLine(revoking?.name ?? "")}”?`}
        confirm="Revoke"
        danger
        onConfirm={() => revoking && revoke.mutateAsync({ id: revoking.id })}
      >
        The device is signed out and its open pages close at once. Its decisions stay.
      </ConfirmDialog>
    </Section>
  );
}

/** Settings of a device: what it may do. */
export function ThisDeviceSection() {
  const device = useDevice();
  if (device === null) return null;
  return (
    <Section title="This device" id="devices">
      <div className={styles.list}>
        <SettingRow
          title={showOneLine(device.name)}
          help={`${scopeLabels[device.scope]}. ${scopeEffect[device.scope]} Settings are changed on the computer.`}
        />
      </div>
    </Section>
  );
}

function About({ device: { scope, createdAtMs, lastSeenAtMs } }: { device: DeviceView }) {
  return (
    <>
      {scopeLabels[scope]} · paired <Time at={createdAtMs} as="log" /> ·{" "}
      {lastSeenAtMs === null ? (
        "never seen"
      ) : (
        <>
          last seen <Time at={lastSeenAtMs} as="log" />
        </>
      )}
    </>
  );
}

function PairDevice({ known, onClose }: { known: number; onClose: () => void }) {
  const pair = useCall("devices.pair");
  const [name, setName] = useState("");
  const [scope, setScope] = useState<DeviceScope>("approve");
  const [before] = useState(known);
  if (pair.data)
    return <PairingCode pairing={pair.data} isPaired={known > before} onAgain={() => pair.reset()} onClose={onClose} />;
  const wrong = fieldErrors(pair.error).find(({ path }) => path === "name");
  return (
    <Modal isOpen onClose={onClose} title="Pair a device">
      <form
        className={styles.form}
        aria-label="Device"
        onSubmit={(event) => {
          event.preventDefault();
          pair.mutate({ scope, ...(name.trim() !== "" && { name: name.trim() }) });
        }}
      >
        <div>
          <Segmented label="Scope" options={scopes} value={scope} onChange={setScope} />
          <p className={styles.help}>{scopeEffect[scope]}</p>
        </div>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          error={wrong && toSentence(wrong.message)}
          help="Optional; the device suggests one."
          placeholder="Anna’s phone"
          maxLength={60}
          autoComplete="off"
        />
        {pair.error && !wrong && (
          <p role="alert" className={styles.error}>
            No code was made. <InlineCode text={pair.error.message} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={pair.isPending}>
            Show code
          </Button>
        </div>
      </form>
    </Modal>
  );
}

interface CodeProps {
  pairing: DevicePairing;
  isPaired: boolean;
  onAgain: () => void;
  onClose: () => void;
}

function PairingCode({ pairing: { links, expiresAtMs }, isPaired, onAgain, onClose }: CodeProps) {
  const { copyText } = usePlatform();
  const left = Math.max(0, Math.floor((expiresAtMs - useNow(1_000)) / 1_000));
  const remote = links.filter(({ isLocal }) => !isLocal);
  const shown = remote.length > 0 ? remote : links;
  const isOver = left === 0 && !isPaired;
  return (
    <Modal isOpen onClose={onClose} title={isPaired ? "Device paired" : "Scan with the device"}>
      <div className={styles.form}>
        {isPaired ? (
          <p role="status">The device is signed in, and stands in the list.</p>
        ) : isOver ? (
          <p role="status">This code has expired.</p>
        ) : (
          <>
            {remote.length === 0 && (
              <p className={styles.how}>
                <InlineCode text="Only a browser on this computer reaches this link. A phone needs a name: set `gateway.names`, then restart Rouse." />
              </p>
            )}
            {shown.map(({ url, qrSvg }) => (
              <div key={url} className={styles.pairing}>
                {qrSvg !== null && remote.length > 0 && (
                  <img
                    className={styles.qr}
                    alt="QR code of the link"
                    src={`data:image/svg+xml,${encodeURIComponent(qrSvg)}`}
                  />
                )}
                <Code label="Link" text={url} onCopy={copyText} unfolded />
              </div>
            ))}
            <p className={styles.help}>
              Pairs one device. Valid for {Math.floor(left / 60)}:{String(left % 60).padStart(2, "0")}. Show it to
              nobody else.
            </p>
          </>
        )}
        <div className={styles.answers}>
          {isOver && (
            <Button look="primary" onPress={onAgain}>
              New code
            </Button>
          )}
          <Button onPress={onClose}>{isPaired ? "Done" : "Close"}</Button>
        </div>
      </div>
    </Modal>
  );
}
