/* States of versions of built tools as icon, label and tone. */

import { CircleCheck, CircleMinus, CircleSlash2, CircleX, Globe, type LucideIcon } from "lucide-react";
import { createElement } from "react";

import { cx } from "@/components/cx";
import type { ToolBuildState } from "@/platform";

import type { Tone } from "./runState";
import styles from "./runState.module.css";

interface BuildStateStyle {
  tone: Tone;
  glyph: LucideIcon;
  label: string;
  meaning: string;
}

const buildStateStyles: Record<ToolBuildState, BuildStateStyle> = {
  failed: {
    tone: "bad",
    glyph: CircleX,
    label: "Failed",
    meaning: "The check found an error, or a test failed. It cannot be installed.",
  },
  passed: { tone: "accent", glyph: CircleMinus, label: "Not installed", meaning: "Every test passed. Not installed." },
  accepted: { tone: "good", glyph: CircleCheck, label: "Installed", meaning: "You accepted this version." },
  replaced: {
    tone: "calm",
    glyph: CircleSlash2,
    label: "Replaced",
    meaning: "It was installed before, and is not installed now.",
  },
};

/** Icon and label of a state. */
export function BuildStateGlyph({ state, size = 14 }: { state: ToolBuildState; size?: number }) {
  const { tone, glyph, label, meaning } = buildStateStyles[state];
  return (
    <span className={cx(styles.state, styles[tone])} title={meaning}>
      <span aria-hidden className={styles.glyph}>
        {createElement(glyph, { size })}
      </span>
      {label}
    </span>
  );
}

/** Mark of a version whose run had read untrusted input. */
export function UntrustedBuildMark() {
  return (
    <span
      className={cx(styles.state, styles.accent)}
      title="The run that made this version had read untrusted input. Read the source before you install it."
    >
      <Globe size={13} aria-hidden /> From untrusted input
    </span>
  );
}
