/* Text exactly as it is: arguments, results, raw JSON. Long ones are folded, and copied with one press. */

import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { Button, IconButton } from "./Button";
import styles from "./Code.module.css";
import { cx } from "./cx";

const foldAfterLines = 14;
const foldAfterChars = 2_000;

interface Props {
  text: string;
  label: string;
  tone?: "bad";
  onCopy?: (text: string) => Promise<void>;
  /** Shows all of it from the start. */
  unfolded?: boolean;
}

export function Code({ text, label, tone, onCopy, unfolded = false }: Props) {
  const [open, setOpen] = useState(unfolded);
  const lines = text.split("\n");
  const long = lines.length > foldAfterLines || text.length > foldAfterChars;
  const shown = long && !open ? lines.slice(0, foldAfterLines).join("\n").slice(0, foldAfterChars) : text;
  return (
    <div className={cx(styles.code, tone === "bad" && styles.bad)}>
      <pre tabIndex={0} aria-label={label} role="region">
        {shown}
        {shown !== text && "…"}
      </pre>
      {onCopy && <CopyButton text={text} label={`Copy ${label.toLocaleLowerCase()}`} onCopy={onCopy} />}
      {long && (
        <Button small look="ghost" className={styles.more} onPress={() => setOpen(!open)}>
          {open ? "Show less" : `Show all (${lines.length > foldAfterLines ? `${lines.length.toLocaleString()} lines` : `${text.length.toLocaleString()} characters`})`}
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
  return <IconButton small icon={copied ? Check : Copy} label={copied ? "Copied" : label} onPress={copy} className={styles.copy} />;
}

/** Any JSON, written for people. A text that is JSON itself is opened up. */
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
