/* Message input. Enter sends, Shift+Enter inserts a line, Escape leaves the field. Unsent text stays; a message that
   was stopped while queued returns. */

import { SendHorizontal } from "lucide-react";
import { type KeyboardEvent, type RefObject, useRef, useState } from "react";

import { IconButton } from "@/components/Button";
import { TextArea } from "@/components/Field";
import { useSend } from "@/data/chat";

import styles from "./ChatPage.module.css";

/** Limit of the engine. */
const maxChars = 50_000;

interface Props {
  field: RefObject<HTMLTextAreaElement | null>;
  /** Text of a message that was stopped while queued; a new object each time. */
  returned: { text: string } | undefined;
  isAnswering: boolean;
  isStreaming: boolean;
  /** Why nothing can be sent. */
  lockReason: string | undefined;
}

export function Composer({ field, returned, isAnswering, isStreaming, lockReason }: Props) {
  const [text, setText] = useState("");
  const [taken, setTaken] = useState(returned);
  if (returned !== taken) {
    setTaken(returned);
    if (returned && text.trim() === "") setText(returned.text);
  }
  const isDisabled = lockReason !== undefined;
  const send = useSend();
  // A retry has the same key: the message may have arrived.
  const attempt = useRef({ text: "", key: "" });
  const canSend = text.trim() !== "" && !send.isPending && !isDisabled;
  const submit = () => {
    if (!canSend) return;
    const sent = text;
    if (attempt.current.text !== sent) attempt.current = { text: sent, key: crypto.randomUUID() };
    send.mutate(
      { text: sent.trim(), key: attempt.current.key },
      {
        onSuccess: () => {
          attempt.current = { text: "", key: "" };
          setText((now) => (now === sent ? "" : now));
        },
      },
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !isStreaming && !event.nativeEvent.isComposing && event.target instanceof HTMLElement)
      event.target.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className={styles.composer}
      aria-label="Compose"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextArea
        inputRef={field}
        label="Message"
        labelHidden
        rows={1}
        value={text}
        onChange={setText}
        onKeyDown={onKeyDown}
        maxLength={maxChars}
        isDisabled={isDisabled}
        autoFocus
        placeholder={lockReason ?? (isAnswering ? "Send another message; it’s queued" : "Message Rouse")}
        error={send.error?.message}
        className={styles.field}
      />
      <IconButton
        icon={SendHorizontal}
        label="Send"
        shortcut="Enter"
        look="primary"
        isDisabled={!canSend}
        onPress={submit}
      />
    </form>
  );
}
