/* Row of a setting: title, help, control, save state. */

import { Check } from "lucide-react";
import type { ReactNode } from "react";

import { cx } from "@/components/cx";
import { InlineCode } from "@/components/InlineCode";

import styles from "./Settings.module.css";
import type { SaveState } from "./useSetting";

interface Props {
  title: string;
  help?: ReactNode;
  saveState?: SaveState;
  /** Environment variable that overrides the setting. */
  overridden?: string;
  /** Places the control below the text. */
  tall?: boolean;
  children?: ReactNode;
}

export function SettingRow({ title, help, saveState, overridden, tall, children }: Props) {
  return (
    <div className={cx(styles.setting, tall && styles.tall)}>
      <div className={styles.text}>
        <h3>{title}</h3>
        {help !== undefined && <div className={styles.help}>{help}</div>}
        {overridden !== undefined && (
          <p className={styles.overridden}>
            Set by the environment variable <code>{overridden}</code>.
          </p>
        )}
        {saveState?.kind === "failed" && (
          <p className={styles.error} role="alert">
            <InlineCode text={saveState.message} />
          </p>
        )}
      </div>
      {children !== undefined && (
        <div className={styles.control}>
          <SavedMark saveState={saveState} />
          {children}
        </div>
      )}
    </div>
  );
}

export function SavedMark({ saveState }: { saveState: SaveState | undefined }) {
  return (
    <span role="status" className={styles.saved}>
      {saveState?.kind === "saved" && (
        <>
          <Check size={14} aria-hidden /> Saved
        </>
      )}
    </span>
  );
}
