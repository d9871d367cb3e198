/* What would happen if the answer is yes, whole: it scrolls and is never cut. A comparison of files is coloured and signed;
   what could not be seen is marked. */

import { cx } from "@/components/cx";
import { HiddenCount, Marks } from "@/components/Marks";
import { plural } from "@/format/amount";

import { diffOf, type Line, type LineKind } from "./preview";
import styles from "./Preview.module.css";

/** From so many lines on, how many there are is said. */
const countedFrom = 16;

export function Preview({ text }: { text: string }) {
  const diff = diffOf(text);
  const count = text.trimEnd().split("\n").length;
  return (
    <div>
      <pre className={styles.preview} tabIndex={0} role="region" aria-label="What would happen">
        {diff ? diff.map((line, i) => <DiffLine key={i} line={line} isLast={i === diff.length - 1} />) : <Marks text={text} />}
      </pre>
      <HiddenCount text={text} />
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
      <Marks text={line.text} />
      {!isLast && "\n"}
    </span>
  );
}
