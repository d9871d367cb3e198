/* State of a channel as icon and word. */

import { CircleCheck, CircleX, type LucideIcon, TriangleAlert } from "lucide-react";
import { createElement } from "react";

import { cx } from "@/components/cx";

import type { ChannelState } from "./channels";
import type { Tone } from "./runState";
import styles from "./runState.module.css";

const channelStateStyles: Record<ChannelState, { tone: Tone; glyph: LucideIcon; word: string }> = {
  ready: { tone: "good", glyph: CircleCheck, word: "Ready" },
  failed: { tone: "accent", glyph: TriangleAlert, word: "Last message failed" },
  problem: { tone: "bad", glyph: CircleX, word: "Problem" },
};

export function ChannelStateGlyph({ state }: { state: ChannelState }) {
  const { tone, glyph, word } = channelStateStyles[state];
  return (
    <span className={cx(styles.state, styles[tone])}>
      <span aria-hidden className={styles.glyph}>
        {createElement(glyph, { size: 12 })}
      </span>
      {word}
    </span>
  );
}
