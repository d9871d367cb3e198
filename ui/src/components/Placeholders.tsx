/* Placeholders for missing, failed and loading content. Skeletons appear after 200 ms and cause no layout shift. */

import type { LucideIcon } from "lucide-react";
import { type CSSProperties, type ReactNode, useEffect, useState } from "react";

import { Button } from "./Button";
import { cx } from "./cx";
import styles from "./Placeholders.module.css";
import { InlineCode } from "./InlineCode";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** Empty state with an explanation. */
export function Empty({ icon: Icon, title, children, action }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <span className={styles.emblem}>
        <Icon size={22} strokeWidth={1.6} aria-hidden />
      </span>
      <h2 className={styles.emptyTitle}>{title}</h2>
      {children !== undefined && <div className={styles.emptyText}>{children}</div>}
      {action !== undefined && <div className={styles.emptyAction}>{action}</div>}
    </div>
  );
}

interface FailureProps {
  /** Failed operation. */
  title: string;
  error: Error;
  onRetry?: () => void;
}

/** Error with an optional retry. */
export function Failure({ title, error, onRetry }: FailureProps) {
  return (
    <div className={styles.failure} role="alert">
      <div>
        <p className={styles.failureTitle}>{title}</p>
        <p className={styles.failureText}>
          <InlineCode text={error.message} />
        </p>
      </div>
      {onRetry && (
        <Button small onPress={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** True once `waiting` has lasted longer than `afterMs`. */
export function useSlow(waiting: boolean, afterMs = 200): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!waiting) return;
    const timer = setTimeout(() => setSlow(true), afterMs);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [waiting, afterMs]);
  return waiting && slow;
}

/** Skeleton rows of the list's row height. */
export function SkeletonRows({ rows, height = 40 }: { rows: number; height?: number }) {
  const slow = useSlow(true);
  return (
    <div aria-busy="true" className={cx(styles.skeletons, slow && styles.visible)}>
      <span className="visually-hidden" role="status">
        {slow ? "Loading" : ""}
      </span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className={styles.skeletonRow} style={{ height }}>
          <SkeletonBar width={16} />
          <SkeletonBar width={`${38 - ((i * 7) % 17)}%`} />
          <span className={styles.gap} />
          <SkeletonBar width={64} />
        </div>
      ))}
    </div>
  );
}

/** Skeleton of a text. */
export function SkeletonBar({ width, height = 10 }: { width: CSSProperties["width"]; height?: number }) {
  return <span className={styles.bone} style={{ width, height }} />;
}
