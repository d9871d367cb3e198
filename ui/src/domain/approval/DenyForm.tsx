/* A no, with what the model is to be told. The reason is optional; Enter sends it, Escape takes the form away. */

import { type KeyboardEvent, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";

import styles from "./DenyForm.module.css";

/** The engine takes no longer one: a model reads it. */
const mostReason = 1_000;

interface Props {
  busy: boolean;
  /** Nobody takes an answer. */
  isDisabled: boolean;
  onDeny: (reason: string) => void;
  onCancel: () => void;
}

export function DenyForm({ busy, isDisabled, onDeny, onCancel }: Props) {
  const [reason, setReason] = useState("");
  const deny = () => {
    if (!busy && !isDisabled) onDeny(reason.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onCancel();
  };
  return (
    <form
      className={styles.form}
      aria-label="Deny"
      onSubmit={(event) => {
        event.preventDefault();
        deny();
      }}
      onKeyDown={onKeyDown}
    >
      <TextField label="Why not?" value={reason} onChange={setReason} maxLength={mostReason} autoFocus placeholder="Put it into the archive folder instead." help="The model is told this, and goes on without the call. It may stay empty." />
      <div className={styles.buttons}>
        <Button onPress={onCancel}>Back</Button>
        <Button look="danger" type="submit" isDisabled={isDisabled} isPending={busy}>Deny</Button>
      </div>
    </form>
  );
}
