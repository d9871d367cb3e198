/* Verbatim text such as arguments, results and raw JSON. Shows invisible characters by code point; copies the
   original. */

import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { showUnambiguous, showInvisible } from "@/format/visible";

import { Button, IconButton } from "./Button";
import styles from "./Code.module.css";
import { cx } from "./cx";
import { InvisibleCount, VisibleText } from "./VisibleText";

const foldAfterLines = 14;
const foldAfterChars = 2_000;

interface Props {
  text: string;
  label: string;
  tone?: "bad";
  onCopy?: (text: string) => Promise<void>;
  /** Starts expanded. */
  unfolded?: boolean;
  /** Part of an approval: also escapes text that imitates a code point mark. */
  isDecision?: boolean;
}

export function Code({ text, label, tone, onCopy, unfolded = false, isDecision = false }: Props) {
  const [open, setOpen] = useState(unfolded);
  const lines = text.split("\n");
  const long = lines.length > foldAfterLines || text.length > foldAfterChars;
  const part = long && !open ? lines.slice(0, foldAfterLines).join("\n").slice(0, foldAfterChars) : text;
  const shown = isDecision ? showUnambiguous(part) : showInvisible(part);
  return (
    <div className={cx(styles.code, tone === "bad" && styles.bad)}>
      <pre tabIndex={0} aria-label={label} role="region">
        <VisibleText text={shown} />
        {part !== text && "…"}
      </pre>
      {isDecision && <InvisibleCount text={shown} className={styles.hidden} />}
      {onCopy && <CopyButton text={text} label={`Copy ${label.toLocaleLowerCase()}`} onCopy={onCopy} />}
      {long && (
        <Button small look="ghost" className={styles.more} onPress={() => setOpen(!open)}>
          {open
            ? "Show less"
            : `Show all (${lines.length > foldAfterLines ? `${lines.length.toLocaleString()} lines` : `${text.length.toLocaleString()} characters`})`}
        </Button>
      )}
    </div>
  );
}

function CopyButton({ text, label, onCopy }: { text: string; label: string; onCopy: (text: string) => Promise<void> }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void onCopy(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  return (
    <IconButton
      small
      icon={copied ? Check : Copy}
      label={copied ? "Copied" : label}
      onPress={copy}
      className={styles.copy}
    />
  );
}

/** Formats a value as JSON; reformats text that is itself JSON. */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return value === undefined ? "" : JSON.stringify(value, null, 2);
  const trimmed = value.trim();
  if (!/^[[{]/.test(trimmed)) return value;
  try {
    return JSON.stringify(JSON.parse(trimmed), null, 2);
  } catch {
    return value;
  }
}
