/* Run states as icon, label and tone. */

import {
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CircleSlash2,
  CircleStop,
  CircleX,
  ClockAlert,
  Hand,
  type LucideIcon,
} from "lucide-react";
import { type ComponentType, createElement } from "react";

import { cx } from "@/components/cx";
import type { RunState, RunView } from "@/platform";

import { BrokenRing, HollowRing, MovingArc } from "./ringIcons";
import styles from "./runState.module.css";

export type Tone = "accent" | "good" | "bad" | "calm";

interface StateStyle {
  word: string;
  tone: Tone;
  glyph: LucideIcon | ComponentType<{ size: number }>;
}

/** Displayed state. Waiting runs are `running` on the wire. */
export type ShownState = RunState | WaitingState;
type WaitingState = "betweenAttempts" | "waitingForModel" | "waitingForRateLimit";

const stateStyles: Record<RunState, StateStyle> = {
  queued: { word: "Queued", tone: "accent", glyph: HollowRing },
  running: { word: "Running", tone: "accent", glyph: MovingArc },
  awaitingApproval: { word: "Needs you", tone: "accent", glyph: Hand },
  succeeded: { word: "Succeeded", tone: "good", glyph: CircleCheck },
  nothingToReport: { word: "Nothing to report", tone: "calm", glyph: CircleMinus },
  failed: { word: "Failed", tone: "bad", glyph: CircleX },
  timedOut: { word: "Timed out", tone: "bad", glyph: ClockAlert },
  cancelled: { word: "Cancelled", tone: "calm", glyph: CircleStop },
  skipped: { word: "Skipped", tone: "calm", glyph: CircleSlash2 },
  missed: { word: "Missed", tone: "calm", glyph: CircleDashed },
  interrupted: { word: "Interrupted", tone: "calm", glyph: BrokenRing },
};

const waiting: Record<WaitingState, StateStyle> = {
  betweenAttempts: { word: "Waiting to retry", tone: "accent", glyph: HollowRing },
  waitingForModel: { word: "Waiting for the model", tone: "accent", glyph: HollowRing },
  waitingForRateLimit: { word: "Waiting for a rate limit", tone: "accent", glyph: HollowRing },
};

export const runStates = Object.keys(stateStyles) as RunState[];

export function shownState({
  state,
  nextAttemptAtMs,
  waitsFor,
}: Pick<RunView, "state" | "nextAttemptAtMs" | "waitsFor">): ShownState {
  if (state !== "running" || nextAttemptAtMs === null) return state;
  if (waitsFor === "model") return "waitingForModel";
  return waitsFor === "rateLimit" ? "waitingForRateLimit" : "betweenAttempts";
}

function isWaiting(state: ShownState): state is WaitingState {
  return state in waiting;
}

function styleOf(state: ShownState): StateStyle {
  return isWaiting(state) ? waiting[state] : stateStyles[state];
}

export function stateLabel(state: ShownState): string {
  return styleOf(state).word;
}

/** Label for narrow places. */
export function shortStateLabel(state: ShownState): string {
  if (isWaiting(state)) return "Waiting";
  return state === "nothingToReport" ? "Nothing" : stateStyles[state].word;
}

export function stateTone(state: RunState): Tone {
  return stateStyles[state].tone;
}

export function isLive(state: RunState): boolean {
  return state === "queued" || state === "running" || state === "awaitingApproval";
}

interface Props {
  state: ShownState;
  size?: number;
  /** Shows the label instead of using an accessible name. */
  word?: boolean;
}

export function StateGlyph({ state, size = 16, word }: Props) {
  const look = styleOf(state);
  return (
    <span
      className={cx(styles.state, styles[look.tone], state === "awaitingApproval" && styles.pulse)}
      title={word ? undefined : look.word}
    >
      <span aria-hidden className={styles.glyph}>
        {createElement(look.glyph, { size })}
      </span>
      <span className={word ? undefined : "visually-hidden"}>{look.word}</span>
    </span>
  );
}
