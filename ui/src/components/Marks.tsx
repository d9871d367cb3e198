/* Text in which the marks of what cannot be seen, `⟨U+202E⟩`, stand out; and how many there are, said below it. */

import { TriangleAlert } from "lucide-react";

import { plural } from "@/format/amount";
import { hiddenIn, marksIn } from "@/format/visible";

import { cx } from "./cx";
import styles from "./Marks.module.css";

export function Marks({ text }: { text: string }) {
  return marksIn(text).map((part, i) => (i % 2 === 1 ? <mark key={i} className={styles.mark}>{part}</mark> : part));
}

export function HiddenCount({ text, className }: { text: string; className?: string }) {
  const hidden = hiddenIn(text);
  if (hidden === 0) return null;
  return (
    <p className={cx(styles.hidden, className)}>
      <TriangleAlert size={13} aria-hidden />
      {plural(hidden, "character")} in it cannot be seen and {hidden === 1 ? "is" : "are"} shown by {hidden === 1 ? "its" : "their"} number.
    </p>
  );
}
