/* Collapsible part with a summary while collapsed. */

import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

import styles from "./Collapsible.module.css";

interface Props {
  title: string;
  summary?: ReactNode;
  children: ReactNode;
  defaultExpanded?: boolean;
  /** Heading level: 3 inside a section, 2 directly on the page. */
  level?: 2 | 3;
  /** Reached by the arrow keys of a list instead of Tab. */
  excludeFromTabOrder?: boolean;
}

export function Collapsible({ title, summary, children, defaultExpanded, level = 3, excludeFromTabOrder }: Props) {
  return (
    <Disclosure className={styles.folded} defaultExpanded={defaultExpanded}>
      <Heading level={level} className={styles.heading}>
        <Button slot="trigger" className={styles.trigger} excludeFromTabOrder={excludeFromTabOrder}>
          <ChevronRight size={15} aria-hidden className={styles.chevron} />
          <span className={styles.words}>
            <span className={styles.title}>{title}</span>
            {summary !== undefined && <span className={styles.summary}>{summary}</span>}
          </span>
        </Button>
      </Heading>
      <DisclosurePanel className={styles.panel}>{children}</DisclosurePanel>
    </Disclosure>
  );
}
