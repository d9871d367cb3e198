/* Result of a registry. All texts are untrusted, so invisible characters are marked and line breaks imitate no row. */

import type { ReactNode } from "react";

import { VisibleText } from "@/components/VisibleText";
import { showOneLine } from "@/format/visible";

import styles from "./Registry.module.css";

interface Props {
  name: string;
  title?: string;
  version?: string;
  description: string;
  isDeprecated?: boolean;
  /** Choice of the result; none if Rouse cannot install the entry. */
  action?: ReactNode;
  /** Source of the installation, or the obstacle. */
  children?: ReactNode;
}

export function Result({ name, title, version, description, isDeprecated = false, action, children }: Props) {
  return (
    <li className={styles.result}>
      <div className={styles.head}>
        <code className={styles.name}>
          <VisibleText text={showOneLine(name)} />
        </code>
        {version !== undefined && (
          <span className={styles.version}>
            <VisibleText text={showOneLine(version)} />
          </span>
        )}
        {isDeprecated && <span className={styles.tag}>Deprecated</span>}
        {action !== undefined && <span className={styles.action}>{action}</span>}
      </div>
      {title !== undefined && (
        <p>
          <VisibleText text={showOneLine(title)} />
        </p>
      )}
      <p className={styles.quoted}>
        {description === "" ? "No description." : <VisibleText text={showOneLine(description)} />}
      </p>
      {children}
    </li>
  );
}
