/* Text with highlighted marks of invisible characters (`⟨U+202E⟩`), and their count. */

import { TriangleAlert } from "lucide-react";

import { plural } from "@/format/amount";
import { countInvisible, splitMarks } from "@/format/visible";

import { cx } from "./cx";
import styles from "./VisibleText.module.css";

export function VisibleText({ text }: { text: string }) {
  return splitMarks(text).map((part, i) =>
    i % 2 === 1 ? (
      <mark key={i} className={styles.mark}>
        {part}
      </mark>
    ) : (
      part
    ),
  );
}

export function InvisibleCount({ text, className }: { text: string; className?: string }) {
  const hidden = countInvisible(text);
  if (hidden === 0) return null;
  return (
    <p className={cx(styles.hidden, className)}>
      <TriangleAlert size={13} aria-hidden />
      {plural(hidden, "invisible character")} shown by code point.
    </p>
  );
}
