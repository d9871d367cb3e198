/* Keyboard key. */

import type { ReactNode } from "react";

import styles from "./Kbd.module.css";

export const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
export const modKey = isMac ? "⌘" : "Ctrl";

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className={styles.kbd}>{children}</kbd>;
}
