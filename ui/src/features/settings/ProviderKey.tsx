/* The key of a provider in the list: whether one is stored, another in its place, none any more. Its value is never shown. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { Modal, Question } from "@/components/Modal";
import { Worded } from "@/components/Worded";
import type { ConfigView, ProviderView } from "@/platform";

import { useProviderKey } from "./keyOfProvider";
import styles from "./Settings.module.css";
import { useFate } from "./useSetting";

export function ProviderKey({ provider, config }: { provider: ProviderView; config: ConfigView }) {
  const { label, name, keySecret, problem } = provider;
  const [isTyping, setTyping] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const { remove } = useProviderKey();
  const others = config.model.providers.filter((other) => other.name !== name).map((other) => other.keySecret);
  return (
    <div className={styles.key}>
      {keySecret !== null && problem === null && <span>A key is stored as <code>{keySecret}</code>.</span>}
      <Button small look="ghost" onPress={() => setTyping(true)} aria-label={keySecret === null ? `Store a key for ${label}` : `Replace key of ${label}`}>
        {keySecret === null ? "Store a key" : "Replace key"}
      </Button>
      {keySecret !== null && (
        <Button small look="ghost" onPress={() => setAsked(true)} aria-label={`Remove key of ${label}`}>
          Remove key
        </Button>
      )}
      {isTyping && <KeyForm provider={provider} onClose={() => setTyping(false)} />}
      <Question isOpen={isAsked} onClose={() => setAsked(false)} title={`Remove the key of “${name}”?`} confirm="Remove" danger onConfirm={() => remove(provider, others)}>
        Its value is gone then, and the server is asked without a key.
      </Question>
    </div>
  );
}

function KeyForm({ provider, onClose }: { provider: ProviderView; onClose: () => void }) {
  const [value, setValue] = useState("");
  const [fate, follow] = useFate();
  const { replace } = useProviderKey();
  const save = async () => {
    if (await follow(() => replace(provider, value), "value")) onClose();
  };
  return (
    <Modal isOpen onClose={onClose} title={`The key of “${provider.name}”`}>
      <form
        className={styles.form}
        aria-label="Key of a server"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField label="Key" type="password" value={value} onChange={setValue} autoFocus help="Kept as a secret, for this server’s host, and never shown again." autoComplete="off" />
        {fate.kind === "failed" && <p role="alert" className={styles.error}>It was not saved. <Worded text={fate.message} /></p>}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={fate.kind === "saving"} isDisabled={value.trim() === ""}>Save</Button>
        </div>
      </form>
    </Modal>
  );
}
