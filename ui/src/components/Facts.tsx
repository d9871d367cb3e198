/* Small facts in a row or a column: what it is called above, what it is below. */

import type { ReactNode } from "react";

import { cx } from "./cx";
import styles from "./Facts.module.css";

export interface Fact {
  name: string;
  value: ReactNode;
  /** A sentence rather than a word, which gets more room. */
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
