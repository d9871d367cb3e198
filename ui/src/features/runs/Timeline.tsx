/* Every step of a run, in order. What is being read stays where it is while a live run adds steps below. */

import { type ReactNode, useRef, useState } from "react";

import { Chips } from "@/components/Choice";
import { Code, pretty } from "@/components/Code";
import { Section } from "@/components/Page";
import { Button } from "@/components/Button";
import { useAnchored } from "@/components/useAnchored";
import { usePlatform } from "@/data/platform";
import { askingRun } from "@/domain/approval/words";
import { isLive } from "@/domain/runState";
import { stoppedWord } from "@/domain/steps";
import type { ApprovalView, RunDetail, StepKind, StepView } from "@/platform";

import { QuestionStep } from "./QuestionStep";
import styles from "./Timeline.module.css";
import { TimelineStep } from "./TimelineStep";

type Shown = "all" | "question" | StepKind;

/** A handful of steps is seen at a glance and needs no filter. */
const filteredFrom = 5;

const kinds: readonly { id: Shown; label: string }[] = [
  { id: "all", label: "All" },
  { id: "modelTurn", label: "Model" },
  { id: "toolCall", label: "Tools" },
  { id: "question", label: "Questions" },
  { id: "note", label: "Notes" },
  { id: "summary", label: "Summary" },
];

type Entry = { at: number; step: StepView } | { at: number; approval: ApprovalView };

/** Steps and questions as they came; what a question was about is called after its answer. */
function entriesOf({ steps, approvals }: RunDetail): Entry[] {
  const all: Entry[] = [...steps.map((step) => ({ at: step.startedAtMs, step })), ...approvals.map((approval) => ({ at: approval.askedAtMs, approval }))];
  return all.toSorted((a, b) => a.at - b.at);
}

function kindOf(entry: Entry): Shown {
  return "step" in entry ? entry.step.kind : "question";
}

export function Timeline({ detail }: { detail: RunDetail }) {
  const [shown, setShown] = useState<Shown>("all");
  const [raw, setRaw] = useState(false);
  const platform = usePlatform();
  const element = useRef<HTMLDivElement>(null);
  useAnchored(element);
  const entries = entriesOf(detail);
  const present = kinds.filter(({ id }) => id === "all" || entries.some((entry) => kindOf(entry) === id));
  return (
    <div ref={element}>
      <Section
        title="What happened"
        aside={
          <Button small look="ghost" onPress={() => setRaw(!raw)}>
            {raw ? "Timeline" : "Raw JSON"}
          </Button>
        }
      >
        {raw ? (
          <Code label="Raw JSON" text={pretty(detail)} onCopy={platform.copyText} unfolded />
        ) : (
          <>
            {present.length > 2 && entries.length >= filteredFrom && <Chips label="Steps" options={present} value={shown} onChange={setShown} className={styles.filter} />}
            <Steps detail={detail} entries={entries} shown={shown} />
          </>
        )}
      </Section>
    </div>
  );
}

function Steps({ detail, entries, shown }: { detail: RunDetail; entries: readonly Entry[]; shown: Shown }) {
  const { run, steps, liveText } = detail;
  const begin = run.startedAtMs ?? run.createdAtMs;
  const visible = entries.filter((entry) => shown === "all" || kindOf(entry) === shown);
  if (entries.length === 0) return <p className={styles.none}>{nothing(detail)}</p>;
  const last = steps.at(-1);
  const open = detail.approvals.filter(({ state }) => state === "pending");
  return (
    <ol className={styles.timeline} aria-label="Steps">
      {visible.map((entry) =>
        "step" in entry ? (
          <TimelineStep key={entry.step.seq} step={entry.step} begin={begin} stopped={stoppedWord(entry.step, run)} liveText={entry.step === last ? liveText : null} summary={run.summary} />
        ) : (
          <QuestionStep key={entry.approval.id} approval={entry.approval} run={askingRun(detail, open.filter(({ id }) => id !== entry.approval.id).length)} begin={begin} />
        ),
      )}
    </ol>
  );
}

function nothing({ run }: RunDetail): ReactNode {
  if (run.state === "queued") return "It waits for its turn.";
  if (isLive(run.state)) return "It has just begun.";
  if (run.startedAtMs === null) return "It never began, so there are no steps.";
  if (run.state !== "succeeded" && run.state !== "nothingToReport") return "It ended before its first step.";
  return "It needed no model and no tool, so there are no steps.";
}
