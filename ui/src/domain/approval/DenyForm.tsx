/* Denial with an optional reason. Enter sends, Escape closes the form. */

import { type KeyboardEvent, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";

import styles from "./DenyForm.module.css";

/** Limit of the engine. */
const maxReasonChars = 1_000;

interface Props {
  busy: boolean;
  isDisabled: boolean;
  /** Coding agent that learns of the denial only. */
  agent: string | null;
  onDeny: (reason: string) => void;
  onCancel: () => void;
}

export function DenyForm({ busy, isDisabled, agent, onDeny, onCancel }: Props) {
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
      <TextField
        label="Reason (optional)"
        value={reason}
        onChange={setReason}
        maxLength={maxReasonChars}
        autoFocus
        placeholder={agent === null ? "Put it into the archive folder instead." : undefined}
        help={
          agent === null
            ? "The agent sees this and continues without the call."
            : `Kept in the history. ${agent} sees the denial without this text.`
        }
      />
      <div className={styles.buttons}>
        <Button onPress={onCancel}>Back</Button>
        <Button look="danger" type="submit" isDisabled={isDisabled} isPending={busy}>
          Deny
        </Button>
      </div>
    </form>
  );
}
