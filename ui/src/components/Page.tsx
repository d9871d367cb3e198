/* Page frame: title left, one primary action right, content up to 960 px wide. */

import { createContext, type ReactNode, use, useEffect } from "react";

import { cx } from "./cx";
import styles from "./Page.module.css";

/** Number of pending approvals, shown in the window title. */
export const TitleCountContext = createContext(0);

interface Props {
  title: string;
  /** Visible heading; `title` then only names the window. */
  shownTitle?: string;
  /** Shown before the title, such as a state icon. */
  lead?: ReactNode;
  /** Secondary line below the title. */
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}

export function Page({ title, shownTitle = title, lead, about, actions, children, className }: Props) {
  useDocumentTitle(title, use(TitleCountContext));
  return (
    <div className={cx(styles.page, className)}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <h1 className={styles.title}>
            {lead !== undefined && <span className={styles.lead}>{lead}</span>}
            <span className={styles.name}>{shownTitle}</span>
          </h1>
          {about !== undefined && <div className={styles.about}>{about}</div>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

function useDocumentTitle(title: string, waiting: number) {
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · Rouse`;
  }, [title, waiting]);
}

/** Titled section; with an `id`, the focus target of links. */
export function Section({
  title,
  id,
  aside,
  children,
  className,
}: {
  title: string;
  id?: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section
      id={id}
      tabIndex={id === undefined ? undefined : -1}
      className={cx(styles.section, className)}
      aria-label={title}
    >
      <div className={styles.sectionHead}>
        <h2>{title}</h2>
        {aside !== undefined && <div className={styles.aside}>{aside}</div>}
      </div>
      {children}
    </section>
  );
}
