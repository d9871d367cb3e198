/* Modal dialog and confirmation dialog. Escape and a click outside close both. */

import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Dialog, Heading, Modal as AriaModal, ModalOverlay } from "react-aria-components";

import { Button } from "./Button";
import { cx } from "./cx";
import styles from "./Modal.module.css";
import { InlineCode } from "./InlineCode";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  titleHidden?: boolean;
  wide?: boolean;
  /** `alertdialog` interrupts screen readers. */
  role?: "dialog" | "alertdialog";
  children: ReactNode;
  /** Buttons that stay visible while the body scrolls. */
  footer?: ReactNode;
  className?: string;
}

export function Modal({
  isOpen,
  onClose,
  title,
  titleHidden,
  wide,
  role = "dialog",
  children,
  footer,
  className,
}: Props) {
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

/** Scrolling body; focusable when it overflows and contains no focusable element. */
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
    // The dialog has the focus if no element inside does.
    if (isStop && body.current?.parentElement === document.activeElement) body.current.focus();
  }, [isStop]);
  return (
    <div ref={body} className={styles.body} {...(isStop && { tabIndex: 0, role: "group", "aria-label": label })}>
      {children}
    </div>
  );
}

const controls = ":is(a[href], button, input, textarea, select, [tabindex])";

interface ConfirmDialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  children?: ReactNode;
  /** Button label, a verb. */
  confirm: string;
  danger?: boolean;
  onConfirm: () => unknown;
}

/** Confirms an irreversible action. Stays open and shows the error until the action succeeds. */
export function ConfirmDialog({ isOpen, onClose, title, children, confirm, danger, onConfirm }: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const runConfirmed = async () => {
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
          <Button look={danger ? "danger" : "primary"} onPress={() => void runConfirmed()} isPending={busy} autoFocus>
            {confirm}
          </Button>
        </>
      }
    >
      <div className={styles.text}>{children}</div>
      {failure !== undefined && (
        <p role="alert" className={styles.failure}>
          <InlineCode text={failure} />
        </p>
      )}
    </Modal>
  );
}
