/* Words as a model was told them, with what came from outside marked as such. */

import { Globe } from "lucide-react";

import { Code, pretty } from "@/components/Code";

import styles from "./Marked.module.css";
import { piecesOf } from "./outside";

interface Props {
  text: string;
  label: string;
  tone?: "bad";
  onCopy?: (text: string) => Promise<void>;
}

export function Marked({ text, label, tone, onCopy }: Props) {
  return (
    <div className={styles.pieces}>
      {piecesOf(text).map(({ text: words, through }, i) =>
        through === undefined ? (
          <Code key={i} label={label} text={pretty(words)} tone={tone} onCopy={onCopy} />
        ) : (
          <div key={i} className={styles.outside} role="group" aria-label={`From outside, through ${through}`}>
            <p className={styles.mark}><Globe size={13} aria-hidden /> From outside, through <code>{through}</code></p>
            <Code label={`${label}, from outside`} text={pretty(words)} tone={tone} onCopy={onCopy} />
          </div>
        ),
      )}
    </div>
  );
}
