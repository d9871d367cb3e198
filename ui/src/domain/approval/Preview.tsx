/* What would happen if the answer is yes, whole: it scrolls and is never cut. A comparison of files is coloured and signed;
   what could not be seen is marked. */

import { cx } from "@/components/cx";
import { HiddenCount, Marks } from "@/components/Marks";
import { plural } from "@/format/amount";

import { apart, diffOf, type Line, type LineKind } from "./preview";
import styles from "./Preview.module.css";

/** From so many lines on, how many there are is said. */
const countedFrom = 16;

export function Preview({ text, call }: { text: string; call: { arguments: unknown } }) {
  const { shown, said } = apart(text, call.arguments ?? {});
  const diff = diffOf(shown);
  const count = shown.trimEnd().split("\n").length;
  return (
    <div>
      <pre className={styles.preview} tabIndex={0} role="region" aria-label="What would happen">
        {diff ? diff.map((line, i) => <DiffLine key={i} line={line} isLast={i === diff.length - 1} />) : <Marks text={shown} />}
      </pre>
      <HiddenCount text={text} />
      {said.length > 0 && <ul className={styles.said} aria-label="How it would run">{said.map((line, i) => <li key={i}><Marks text={line} /></li>)}</ul>}
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
