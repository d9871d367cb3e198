/* What stands in place of content: nothing yet, not there, loading. Loading shows nothing for 200 ms, then grey shapes of
   the same size as what will come, so that nothing jumps. */

import type { LucideIcon } from "lucide-react";
import { type CSSProperties, type ReactNode, useEffect, useState } from "react";

import { Button } from "./Button";
import { cx } from "./cx";
import styles from "./States.module.css";
import { Worded } from "./Worded";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** An empty place that teaches what would be here. */
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
  /** What could not be done. */
  title: string;
  error: Error;
  onRetry?: () => void;
}

/** What happened and what can be done about it. */
export function Failure({ title, error, onRetry }: FailureProps) {
  return (
    <div className={styles.failure} role="alert">
      <div>
        <p className={styles.failureTitle}>{title}</p>
        <p className={styles.failureText}><Worded text={error.message} /></p>
      </div>
      {onRetry && (
        <Button small onPress={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** True once something has taken longer than a person would not notice. */
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

/** Grey rows of the list's own height. */
export function SkeletonRows({ rows, height = 40 }: { rows: number; height?: number }) {
  const slow = useSlow(true);
  return (
    <div aria-busy="true" className={cx(styles.skeletons, slow && styles.visible)}>
      <span className="visually-hidden" role="status">{slow ? "Loading" : ""}</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className={styles.skeletonRow} style={{ height }}>
          <Bone width={16} />
          <Bone width={`${38 - ((i * 7) % 17)}%`} />
          <span className={styles.gap} />
          <Bone width={64} />
        </div>
      ))}
    </div>
  );
}

/** One grey shape in a text's place. */
export function Bone({ width, height = 10 }: { width: CSSProperties["width"]; height?: number }) {
  return <span className={styles.bone} style={{ width, height }} />;
}
