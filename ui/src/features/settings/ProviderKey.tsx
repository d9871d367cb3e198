/* API key of a provider: add, replace, remove. Never shows a stored key. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { Modal, ConfirmDialog } from "@/components/Modal";
import { InlineCode } from "@/components/InlineCode";
import type { ConfigView, ProviderView } from "@/platform";

import { useProviderKey } from "./providerSecret";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

export function ProviderKey({ provider, config }: { provider: ProviderView; config: ConfigView }) {
  const { label, name, keySecret, problem } = provider;
  const [isTyping, setTyping] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const { remove } = useProviderKey();
  const others = config.model.providers.filter((other) => other.name !== name).map((other) => other.keySecret);
  return (
    <div className={styles.key}>
      {keySecret !== null && problem === null && (
        <span>
          Key stored as <code>{keySecret}</code>.
        </span>
      )}
      <Button
        small
        look="ghost"
        onPress={() => setTyping(true)}
        aria-label={keySecret === null ? `Add key for ${label}` : `Replace key of ${label}`}
      >
        {keySecret === null ? "Add key" : "Replace key"}
      </Button>
      {keySecret !== null && (
        <Button small look="ghost" onPress={() => setAsked(true)} aria-label={`Remove key of ${label}`}>
          Remove key
        </Button>
      )}
      {isTyping && <KeyForm provider={provider} onClose={() => setTyping(false)} />}
      <ConfirmDialog
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={`Remove the key of “${name}”?`}
        confirm="Remove"
        danger
        onConfirm={() => remove(provider, others)}
      >
        The key is deleted, and the provider is called without one.
      </ConfirmDialog>
    </div>
  );
}

function KeyForm({ provider, onClose }: { provider: ProviderView; onClose: () => void }) {
  const [value, setValue] = useState("");
  const [saveState, follow] = useSaveState();
  const { replace } = useProviderKey();
  const save = async () => {
    if (await follow(() => replace(provider, value), "value")) onClose();
  };
  return (
    <Modal isOpen onClose={onClose} title={`API key of “${provider.name}”`}>
      <form
        className={styles.form}
        aria-label="API key"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label="Key"
          type="password"
          value={value}
          onChange={setValue}
          autoFocus
          help="Stored as a secret for this provider’s host, never shown again."
          autoComplete="off"
        />
        {saveState.kind === "failed" && (
          <p role="alert" className={styles.error}>
            Not saved. <InlineCode text={saveState.message} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={saveState.kind === "saving"} isDisabled={value.trim() === ""}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
