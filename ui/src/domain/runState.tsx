/* Run states as icon, label and tone. `cargo xtask types` writes the labels. */

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
import { type RunState, runStateLabels, type RunView, type WaitsFor, waitLabels } from "@/platform";

import { BrokenRing, HollowRing, MovingArc } from "./ringIcons";
import styles from "./runState.module.css";

export type Tone = "accent" | "good" | "bad" | "calm";

interface StateStyle {
  tone: Tone;
  glyph: LucideIcon | ComponentType<{ size: number }>;
}

/** Displayed state. Waiting runs are `running` on the wire. */
export type ShownState = RunState | WaitsFor | "betweenAttempts";

const stateStyles: Record<RunState, StateStyle> = {
  queued: { tone: "accent", glyph: HollowRing },
  running: { tone: "accent", glyph: MovingArc },
  awaitingApproval: { tone: "accent", glyph: Hand },
  succeeded: { tone: "good", glyph: CircleCheck },
  nothingToReport: { tone: "calm", glyph: CircleMinus },
  failed: { tone: "bad", glyph: CircleX },
  timedOut: { tone: "bad", glyph: ClockAlert },
  cancelled: { tone: "calm", glyph: CircleStop },
  skipped: { tone: "calm", glyph: CircleSlash2 },
  missed: { tone: "calm", glyph: CircleDashed },
  interrupted: { tone: "calm", glyph: BrokenRing },
};

const waitingStyle: StateStyle = { tone: "accent", glyph: HollowRing };

const labels: Record<ShownState, string> = { ...runStateLabels, ...waitLabels, betweenAttempts: "Waiting to retry" };

export const runStates = Object.keys(stateStyles) as RunState[];

export function shownState({
  state,
  nextAttemptAtMs,
  waitsFor,
}: Pick<RunView, "state" | "nextAttemptAtMs" | "waitsFor">): ShownState {
  if (state !== "running" || nextAttemptAtMs === null) return state;
  return waitsFor ?? "betweenAttempts";
}

function isWaiting(state: ShownState): state is Exclude<ShownState, RunState> {
  return !(state in stateStyles);
}

export function stateLabel(state: ShownState): string {
  return labels[state];
}

/** Label for narrow places. */
export function shortStateLabel(state: ShownState): string {
  if (isWaiting(state)) return "Waiting";
  return state === "nothingToReport" ? "Nothing" : labels[state];
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
  const { tone, glyph } = isWaiting(state) ? waitingStyle : stateStyles[state];
  return (
    <span
      className={cx(styles.state, styles[tone], state === "awaitingApproval" && styles.pulse)}
      title={word ? undefined : labels[state]}
    >
      <span aria-hidden className={styles.glyph}>
        {createElement(glyph, { size })}
      </span>
      <span className={word ? undefined : "visually-hidden"}>{labels[state]}</span>
    </span>
  );
}
