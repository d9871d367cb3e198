/* Parts of the server dialogs: progress and errors. */

import { type ReactNode, useEffect, useRef } from "react";

import { InlineCode } from "@/components/InlineCode";
import { MovingArc } from "@/domain/ringIcons";

import { withoutFlags } from "./engineMessage";
import styles from "./Servers.module.css";

export function Starting({ name, children }: { name: string; children?: ReactNode }) {
  return (
    <StepStart>
      <p role="status" className={styles.progress}>
        <span aria-hidden>
          <MovingArc size={16} />
        </span>
        Starting {name} …
      </p>
      <p className={styles.note}>The first start may take a minute. {children}</p>
    </StepStart>
  );
}

export function ActionError({ error }: { error: Error }) {
  return (
    <p role="alert" className={styles.error}>
      <InlineCode text={withoutFlags(error.message)} />
    </p>
  );
}

/** Takes the focus, because the button that led here is gone, and shows its start. */
export function StepStart({ label, children }: { label?: string; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.focus({ preventScroll: true });
    place.current?.scrollIntoView({ block: "start" });
  }, []);
  return (
    <div
      ref={place}
      tabIndex={-1}
      className={styles.form}
      {...(label !== undefined && { role: "group", "aria-label": label })}
    >
      {children}
    </div>
  );
}
