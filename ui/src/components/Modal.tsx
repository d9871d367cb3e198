/* What stands before the page: a dialog with a title, and a question with two answers. Escape and the scrim close both. */

import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Dialog, Heading, Modal as AriaModal, ModalOverlay } from "react-aria-components";

import { Button } from "./Button";
import { cx } from "./cx";
import styles from "./Modal.module.css";
import { Worded } from "./Worded";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  titleHidden?: boolean;
  wide?: boolean;
  /** A question that interrupts is announced as one. */
  role?: "dialog" | "alertdialog";
  children: ReactNode;
  /** The answers, which stay in sight however much there is above them. */
  footer?: ReactNode;
  className?: string;
}

export function Modal({ isOpen, onClose, title, titleHidden, wide, role = "dialog", children, footer, className }: Props) {
  return (
    <ModalOverlay className={styles.scrim} isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable>
      <AriaModal className={cx(styles.modal, wide && styles.wide, className)}>
        <Dialog role={role} className={styles.dialog}>
          <Heading slot="title" className={titleHidden ? "visually-hidden" : styles.title}>
            {title}
          </Heading>
          <Body label={title}>{children}</Body>
          {footer !== undefined && <div className={styles.answers}>{footer}</div>}
        </Dialog>
      </AriaModal>
    </ModalOverlay>
  );
}

/** What is longer than the window scrolls. Where nothing in it can be come to, it has the keys for that itself, from the start. */
function Body({ label, children }: { label: string; children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null);
  const [isStop, setStop] = useState(false);
  const measure = () => {
    const element = body.current;
    if (element) setStop(element.scrollHeight > element.clientHeight && element.querySelector(controls) === null);
  };
  useLayoutEffect(measure);
  useEffect(() => {
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  useLayoutEffect(() => {
    // The dialog itself has the focus where nothing in it has taken it.
    if (isStop && body.current?.parentElement === document.activeElement) body.current.focus();
  }, [isStop]);
  return <div ref={body} className={styles.body} {...(isStop && { tabIndex: 0, role: "group", "aria-label": label })}>{children}</div>;
}

const controls = ":is(a[href], button, input, textarea, select, [tabindex])";

interface QuestionProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  children?: ReactNode;
  /** The verb on the button. */
  confirm: string;
  danger?: boolean;
  onConfirm: () => unknown;
}

/** Asks before something that cannot be undone. Stays open, with the button busy, until it is done; says so when it failed. */
export function Question({ isOpen, onClose, title, children, confirm, danger, onConfirm }: QuestionProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const answer = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal
      isOpen={isOpen}
      onClose={onClose}
      title={title}
      role="alertdialog"
      footer={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button look={danger ? "danger" : "primary"} onPress={() => void answer()} isPending={busy} autoFocus>
            {confirm}
          </Button>
        </>
      }
    >
      <div className={styles.text}>{children}</div>
      {failure !== undefined && <p role="alert" className={styles.failure}><Worded text={failure} /></p>}
    </Modal>
  );
}
