/* Single-line notice with an optional action. */

import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import { cx } from "./cx";
import styles from "./Notice.module.css";

interface Props {
  icon?: LucideIcon;
  tone?: "calm" | "accent" | "bad";
  children: ReactNode;
  action?: ReactNode;
  className?: string;
}

export function Notice({ icon: Icon, tone = "calm", children, action, className }: Props) {
  return (
    <div className={cx(styles.notice, styles[tone], className)}>
      {Icon && <Icon size={16} aria-hidden />}
      <div className={styles.text}>{children}</div>
      {action}
    </div>
  );
}
