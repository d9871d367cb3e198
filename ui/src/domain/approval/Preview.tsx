/* Preview of a call, never truncated. Colors and labels diffs, marks invisible characters. */

import { cx } from "@/components/cx";
import { InvisibleCount, VisibleText } from "@/components/VisibleText";
import { plural } from "@/format/amount";

import { actionLines, splitCommandPreview, diffOf, type DiffLine as DiffRow, type DiffLineKind } from "./preview";
import styles from "./Preview.module.css";

/** Shows the line count from here on. */
const countFromLines = 16;

interface Props {
  text: string;
  /** Call of the preview, if any. */
  call?: { arguments: unknown };
  label?: string;
  /** Action of a coding agent, whose diffs follow its title. */
  isAction?: boolean;
}

export function Preview({ text, call, label = "Preview", isAction = false }: Props) {
  const { shown, notes } = splitCommandPreview(text, call?.arguments ?? {});
  const diff = isAction ? actionLines(shown) : diffOf(shown);
  const count = shown.trimEnd().split("\n").length;
  return (
    <div>
      <pre className={styles.preview} tabIndex={0} role="region" aria-label={label}>
        {diff ? (
          diff.map((line, i) => <DiffRow key={i} line={line} isLast={i === diff.length - 1} />)
        ) : (
          <VisibleText text={shown} />
        )}
      </pre>
      <InvisibleCount text={text} />
      {notes.length > 0 && (
        <ul className={styles.notes} aria-label="Execution details">
          {notes.map((line, i) => (
            <li key={i}>
              <VisibleText text={line} />
            </li>
          ))}
        </ul>
      )}
      {count >= countFromLines && <p className={styles.count}>{plural(count, "line")}, shown in full.</p>}
    </div>
  );
}

const words: Record<DiffLineKind, string | undefined> = {
  added: "Added:",
  removed: "Removed:",
  place: undefined,
  head: undefined,
  same: undefined,
};

function DiffRow({ line, isLast }: { line: DiffRow; isLast: boolean }) {
  const word = words[line.kind];
  return (
    <span className={cx(styles.line, styles[line.kind])}>
      {word !== undefined && <span className="visually-hidden">{word} </span>}
      <VisibleText text={line.text} />
      {!isLast && "\n"}
    </span>
  );
}
