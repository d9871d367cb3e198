/* Toasts for events elsewhere, and for undo. F6 moves the focus here. */

import { X } from "lucide-react";
import { useEffect } from "react";
import {
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from "react-aria-components";

import { Button, IconButton } from "./Button";
import styles from "./Toasts.module.css";

interface ToastText {
  title: string;
  about?: string;
  action?: { label: string; onAction: () => void };
}

const queue = new ToastQueue<ToastText>({ maxVisibleToasts: 3 });

const shownForMs = 6_000;

/** Shows a toast. Returns the close function. */
export function toast(content: ToastText, forMs = shownForMs): () => void {
  const key = queue.add(content, { timeout: forMs });
  return () => queue.close(key);
}

export const undoForMs = 10_000;

/** Shows a toast with an undo action for ten seconds. */
export function undoToast(title: string, onUndo: () => void, about?: string): () => void {
  return toast({ title, about, action: { label: "Undo", onAction: onUndo } }, undoForMs);
}

/** Renders the toasts; cleared on unmount. */
export function Toasts() {
  useEffect(() => () => queue.clear(), []);
  return (
    <ToastRegion queue={queue} className={styles.region}>
      {({ toast: shown }) => (
        <Toast toast={shown} className={styles.toast}>
          <ToastContent className={styles.content}>
            <Text slot="title" className={styles.title}>
              {shown.content.title}
            </Text>
            {shown.content.about !== undefined && (
              <Text slot="description" className={styles.about}>
                {shown.content.about}
              </Text>
            )}
          </ToastContent>
          {shown.content.action && (
            <Button
              small
              look="ghost"
              className={styles.action}
              onPress={() => {
                shown.content.action?.onAction();
                queue.close(shown.key);
              }}
            >
              {shown.content.action.label}
            </Button>
          )}
          <IconButton slot="close" icon={X} label="Dismiss" small />
        </Toast>
      )}
    </ToastRegion>
  );
}
