/* What would happen if the answer is yes, whole: it scrolls and is never cut. A comparison of files is coloured and signed;
   what could not be seen is marked. */

import { TriangleAlert } from "lucide-react";

import { cx } from "@/components/cx";
import { plural } from "@/format/amount";

import { diffOf, hiddenIn, type Line, type LineKind, marksIn } from "./preview";
import styles from "./Preview.module.css";

/** From so many lines on, how many there are is said. */
const countedFrom = 16;

export function Preview({ text }: { text: string }) {
  const diff = diffOf(text);
  const count = text.trimEnd().split("\n").length;
  const hidden = hiddenIn(text);
  return (
    <div>
      <pre className={styles.preview} tabIndex={0} role="region" aria-label="What would happen">
        {diff ? diff.map((line, i) => <DiffLine key={i} line={line} isLast={i === diff.length - 1} />) : <Marked text={text} />}
      </pre>
      {hidden > 0 && (
        <p className={styles.hidden}>
          <TriangleAlert size={13} aria-hidden />
          {plural(hidden, "character")} in it cannot be seen and {hidden === 1 ? "is" : "are"} shown by {hidden === 1 ? "its" : "their"} number.
        </p>
      )}
      {count >= countedFrom && <p className={styles.count}>{plural(count, "line")}, all of them here.</p>}
    </div>
  );
}

const words: Record<LineKind, string | undefined> = { added: "Added:", removed: "Removed:", place: undefined, head: undefined, same: undefined };

function DiffLine({ line, isLast }: { line: Line; isLast: boolean }) {
  const word = words[line.kind];
  return (
    <span className={cx(styles.line, styles[line.kind])}>
      {word !== undefined && <span className="visually-hidden">{word} </span>}
      <Marked text={line.text} />
      {!isLast && "\n"}
    </span>
  );
}

function Marked({ text }: { text: string }) {
  return marksIn(text).map((part, i) => (i % 2 === 1 ? <mark key={i} className={styles.mark}>{part}</mark> : part));
}
