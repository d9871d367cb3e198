/* States of MCP servers as icon, label and tone. The engine provides the labels. */

import { CircleCheck, CircleDashed, CircleSlash2, CircleX, Hand, KeyRound, type LucideIcon } from "lucide-react";
import { type ComponentType, createElement } from "react";

import { cx } from "@/components/cx";
import type { ExtensionView, ServerState } from "@/platform";

import { MovingArc } from "./ringIcons";
import type { Tone } from "./runState";
import styles from "./runState.module.css";

interface ServerStateStyle {
  tone: Tone;
  glyph: LucideIcon | ComponentType<{ size: number }>;
  meaning: string;
}

const serverStateStyles: Record<ServerState | "disabled", ServerStateStyle> = {
  off: { tone: "calm", glyph: CircleDashed, meaning: "Not running. A run starts it." },
  starting: { tone: "accent", glyph: MovingArc, meaning: "Starting." },
  ready: { tone: "good", glyph: CircleCheck, meaning: "Running." },
  needsSignIn: { tone: "accent", glyph: KeyRound, meaning: "The sign-in is missing or expired." },
  broken: { tone: "bad", glyph: CircleX, meaning: "Did not start, was not reached, or ended." },
  quarantined: {
    tone: "accent",
    glyph: Hand,
    meaning: "Every tool waits for your review, or a file of its package differs.",
  },
  disabled: { tone: "calm", glyph: CircleSlash2, meaning: "No run may use it." },
};

interface Props {
  server: Pick<ExtensionView, "state" | "label" | "isEnabled">;
  size?: number;
  /** Shows the label instead of using an accessible name. */
  word?: boolean;
}

export function ServerStateGlyph({ server: { state, label, isEnabled }, size = 14, word }: Props) {
  const { tone, glyph, meaning } = serverStateStyles[isEnabled ? state : "disabled"];
  const shown = isEnabled ? label.charAt(0).toLocaleUpperCase() + label.slice(1) : "Disabled";
  return (
    <span className={cx(styles.state, styles[tone])} title={meaning}>
      <span aria-hidden className={styles.glyph}>
        {createElement(glyph, { size })}
      </span>
      <span className={word ? undefined : "visually-hidden"}>{shown}</span>
    </span>
  );
}
