import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";

import type { RunState } from "@/platform";

import { isLive, runStates, StateGlyph, stateTone, type Tone } from "./runState";

const table: Record<RunState, [word: string, tone: Tone]> = {
  queued: ["Queued", "accent"],
  running: ["Running", "accent"],
  awaitingApproval: ["Needs you", "accent"],
  succeeded: ["Succeeded", "good"],
  nothingToReport: ["Nothing to report", "calm"],
  failed: ["Failed", "bad"],
  timedOut: ["Timed out", "bad"],
  cancelled: ["Cancelled", "calm"],
  skipped: ["Skipped", "calm"],
  missed: ["Missed", "calm"],
  interrupted: ["Interrupted", "calm"],
};

test.each(Object.entries(table) as [RunState, [string, Tone]][])("%s has a label and a tone", (state, [word, tone]) => {
  render(<StateGlyph state={state} />);
  expect(screen.getByText(word)).toBeInTheDocument();
  expect(stateTone(state)).toBe(tone);
});

test("no two states share a glyph, so that colour is never alone", () => {
  const glyphs = runStates.map(
    (state) => render(<StateGlyph state={state} />).container.querySelector("svg")?.innerHTML,
  );
  expect(new Set(glyphs).size).toBe(runStates.length);
});

test("queued, running and waiting states are live", () => {
  expect(runStates.filter(isLive)).toEqual(["queued", "running", "awaitingApproval"]);
});
