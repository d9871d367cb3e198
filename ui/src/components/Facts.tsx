/* List of names with values. */

import type { ReactNode } from "react";

import { cx } from "./cx";
import styles from "./Facts.module.css";

export interface Fact {
  name: string;
  value: ReactNode;
  /** Gives a sentence more room. */
  wide?: boolean;
}

export function Facts({ facts }: { facts: readonly (Fact | false | null | undefined)[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map((fact) =>
        fact ? (
          <div key={fact.name} className={cx(styles.fact, fact.wide && styles.wide)}>
            <dt>{fact.name}</dt>
            <dd>{fact.value}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}
