/* A part that is folded away, with its summary shown. */

import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Button, Disclosure, DisclosurePanel, Heading } from "react-aria-components";

import styles from "./Folded.module.css";

interface Props {
  title: string;
  summary?: ReactNode;
  children: ReactNode;
  defaultExpanded?: boolean;
  /** Of the heading; 3 below a titled part of a page, 2 directly on it. */
  level?: 2 | 3;
  /** It is come to by the arrows of a list, and not by Tab. */
  excludeFromTabOrder?: boolean;
}

export function Folded({ title, summary, children, defaultExpanded, level = 3, excludeFromTabOrder }: Props) {
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
