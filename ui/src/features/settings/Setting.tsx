/* One line of the settings: what it is, its control, and beside it whether it was saved. */

import { Check } from "lucide-react";
import type { ReactNode } from "react";

import { cx } from "@/components/cx";
import { Worded } from "@/components/Worded";

import styles from "./Settings.module.css";
import type { Fate } from "./useSetting";

interface Props {
  title: string;
  help?: ReactNode;
  fate?: Fate;
  /** The environment variable that decides instead. */
  overridden?: string;
  /** Puts the control below the text instead of beside it. */
  tall?: boolean;
  children?: ReactNode;
}

export function Setting({ title, help, fate, overridden, tall, children }: Props) {
  return (
    <div className={cx(styles.setting, tall && styles.tall)}>
      <div className={styles.text}>
        <h3>{title}</h3>
        {help !== undefined && <div className={styles.help}>{help}</div>}
        {overridden !== undefined && (
          <p className={styles.overridden}>
            Decided by the environment variable <code>{overridden}</code> as long as it is set.
          </p>
        )}
        {fate?.kind === "failed" && <p className={styles.error} role="alert"><Worded text={fate.message} /></p>}
      </div>
      {children !== undefined && (
        <div className={styles.control}>
          <SavedMark fate={fate} />
          {children}
        </div>
      )}
    </div>
  );
}

export function SavedMark({ fate }: { fate: Fate | undefined }) {
  return (
    <span role="status" className={styles.saved}>
      {fate?.kind === "saved" && (
        <>
          <Check size={14} aria-hidden /> Saved
        </>
      )}
    </span>
  );
}
