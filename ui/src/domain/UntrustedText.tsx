/* Model input in which untrusted parts are marked. */

import { Globe } from "lucide-react";

import { Code, pretty } from "@/components/Code";

import styles from "./UntrustedText.module.css";
import { splitUntrusted } from "./untrustedInput";

interface Props {
  text: string;
  label: string;
  tone?: "bad";
  onCopy?: (text: string) => Promise<void>;
}

export function UntrustedText({ text, label, tone, onCopy }: Props) {
  return (
    <div className={styles.pieces}>
      {splitUntrusted(text).map(({ text: words, source: through }, i) =>
        through === undefined ? (
          <Code key={i} label={label} text={pretty(words)} tone={tone} onCopy={onCopy} />
        ) : (
          <div key={i} className={styles.outside} role="group" aria-label={`Untrusted input from ${through}`}>
            <p className={styles.mark}>
              <Globe size={13} aria-hidden /> Untrusted input from <code>{through}</code>
            </p>
            <Code label={`${label}, untrusted`} text={pretty(words)} tone={tone} onCopy={onCopy} />
          </div>
        ),
      )}
    </div>
  );
}
