/* The place to write: Enter sends, Shift and Enter begins a line, Escape leaves it to the keys of the page, such as those of a
   question. What is written stays when it could not be sent, and comes back when it was stopped before
   its turn came, unless something else is being written by then. */

import { SendHorizontal } from "lucide-react";
import { type KeyboardEvent, type RefObject, useRef, useState } from "react";

import { IconButton } from "@/components/Button";
import { TextArea } from "@/components/Field";
import { useSend } from "@/data/chat";

import styles from "./ChatPage.module.css";

/** The engine takes no longer one. */
const mostCharacters = 50_000;

interface Props {
  /** Where it is written, for whoever leads the person back there. */
  field: RefObject<HTMLTextAreaElement | null>;
  /** The words of a message that was stopped before its turn came; each time another object. */
  returned: { text: string } | undefined;
  isAnswering: boolean;
  /** Whether words of an answer are coming in right now. */
  isStreaming: boolean;
  isDisabled: boolean;
}

export function Composer({ field, returned, isAnswering, isStreaming, isDisabled }: Props) {
  const [text, setText] = useState("");
  const [taken, setTaken] = useState(returned);
  if (returned !== taken) {
    setTaken(returned);
    if (returned && text.trim() === "") setText(returned.text);
  }
  const send = useSend();
  // Whoever sends again what seemed to fail sends the same message: it may have been taken, and only the answer was lost.
  const attempt = useRef({ text: "", key: "" });
  const canSend = text.trim() !== "" && !send.isPending && !isDisabled;
  const submit = () => {
    if (!canSend) return;
    const sent = text;
    if (attempt.current.text !== sent) attempt.current = { text: sent, key: crypto.randomUUID() };
    send.mutate({ text: sent.trim(), key: attempt.current.key }, {
      onSuccess: () => {
        attempt.current = { text: "", key: "" };
        setText((now) => (now === sent ? "" : now));
      },
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !isStreaming && !event.nativeEvent.isComposing && event.target instanceof HTMLElement) event.target.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className={styles.composer}
      aria-label="Write"
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
        maxLength={mostCharacters}
        isDisabled={isDisabled}
        autoFocus
        placeholder={isDisabled ? "No model is set up" : isAnswering ? "Write on; it is answered in turn" : "Write to Rouse"}
        error={send.error?.message}
        className={styles.field}
      />
      <IconButton icon={SendHorizontal} label="Send" shortcut="Enter" look="primary" isDisabled={!canSend} onPress={submit} />
    </form>
  );
}
