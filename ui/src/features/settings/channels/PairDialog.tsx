/* Pairing of a private chat: one-time link with QR code, and the question who opened the link. */

import { ExternalLink } from "lucide-react";
import { type ReactNode, useEffect } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { SkeletonRows } from "@/components/Placeholders";
import { VisibleText } from "@/components/VisibleText";
import { usePlatform } from "@/data/platform";
import { settingError } from "@/features/settings/configPatch";
import styles from "@/features/settings/Settings.module.css";
import type { PairingView } from "@/platform";

import { usePairing } from "./usePairing";

interface Props {
  name: string;
  onClose: () => void;
}

export function PairDialog({ name, onClose }: Props) {
  const { pairing, error, start, confirm, isConfirming } = usePairing(name);
  // A second start would end the link of the first one.
  useEffect(() => void start(), [start]);
  return (
    <Modal isOpen onClose={onClose} title={`Pair a chat with “${name}”`}>
      {error !== undefined && (
        <p role="alert" className={styles.error}>
          {settingError("", error)}
        </p>
      )}
      {!pairing && error === undefined && <SkeletonRows rows={4} />}
      {pairing?.state === "waiting" && <LinkStep pairing={pairing} />}
      {pairing?.state === "confirming" && (
        <EndStep
          text={
            <>
              <b>
                <VisibleText text={pairing.person ?? ""} />
              </b>{" "}
              opened the link. Is this you? A paired chat can decide approvals and write to the main session.
            </>
          }
        >
          <Button isDisabled={isConfirming} onPress={() => confirm(false)}>
            No
          </Button>
          <Button look="primary" isPending={isConfirming} onPress={() => confirm(true)} autoFocus>
            Yes, pair
          </Button>
        </EndStep>
      )}
      {pairing?.state === "paired" && (
        <EndStep
          text={
            <>
              Paired with{" "}
              <b>
                <VisibleText text={pairing.person ?? ""} />
              </b>
              . A first message is on its way to the chat.
            </>
          }
        >
          <Button look="primary" onPress={onClose} autoFocus>
            Done
          </Button>
        </EndStep>
      )}
      {(pairing?.state === "refused" || pairing?.state === "expired") && (
        <EndStep
          text={pairing.state === "refused" ? "Nothing was paired. The link no longer works." : "The link has expired."}
        >
          <Button onPress={onClose}>Close</Button>
          <Button look="primary" onPress={() => void start()}>
            New link
          </Button>
        </EndStep>
      )}
      {error !== undefined && !pairing && (
        <div className={styles.answers}>
          <Button onPress={onClose}>Close</Button>
          <Button look="primary" onPress={() => void start()}>
            Try again
          </Button>
        </div>
      )}
    </Modal>
  );
}

function LinkStep({ pairing: { link, qrSvg } }: { pairing: PairingView }) {
  const { openExternal } = usePlatform();
  return (
    <div className={styles.form}>
      <p>Scan the code with your phone, or open the link here. Then press Start in the chat with your bot.</p>
      <img
        className={styles.qr}
        src={`data:image/svg+xml,${encodeURIComponent(qrSvg)}`}
        alt="QR code of the pairing link"
      />
      <p className={styles.qrLink}>
        <code>{link}</code>
      </p>
      <p role="status">Waiting for you in Telegram. The link works once, for ten minutes.</p>
      <div className={styles.answers}>
        <Button icon={ExternalLink} onPress={() => void openExternal(link)}>
          Open on this computer
        </Button>
      </div>
    </div>
  );
}

function EndStep({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <>
      <p role="status">{text}</p>
      <div className={styles.answers}>{children}</div>
    </>
  );
}
