/* Tooltip with an optional shortcut. */

import type { ReactNode } from "react";
import { Tooltip as AriaTooltip } from "react-aria-components";

import { Kbd } from "./Kbd";
import styles from "./Tooltip.module.css";

export function Tooltip({ children, shortcut }: { children: ReactNode; shortcut?: string }) {
  return (
    <AriaTooltip className={styles.tooltip} offset={6}>
      {children}
      {shortcut !== undefined && <Kbd>{shortcut}</Kbd>}
    </AriaTooltip>
  );
}
