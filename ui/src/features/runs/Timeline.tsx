/* Every step of a run, in order. What is being read stays where it is while a live run adds steps below. */

import { type ReactNode, useRef, useState } from "react";

import { Chips } from "@/components/Choice";
import { Code, pretty } from "@/components/Code";
import { Section } from "@/components/Page";
import { Button } from "@/components/Button";
import { useAnchored } from "@/components/useAnchored";
import { usePlatform } from "@/data/platform";
import { isLive } from "@/domain/runState";
import type { RunDetail, StepKind } from "@/platform";

import styles from "./Timeline.module.css";
import { TimelineStep } from "./TimelineStep";

type Shown = "all" | StepKind;

/** A handful of steps is seen at a glance and needs no filter. */
const filteredFrom = 5;

const kinds: readonly { id: Shown; label: string }[] = [
  { id: "all", label: "All" },
  { id: "modelTurn", label: "Model" },
  { id: "toolCall", label: "Tools" },
  { id: "note", label: "Notes" },
];

export function Timeline({ detail }: { detail: RunDetail }) {
  const [shown, setShown] = useState<Shown>("all");
  const [raw, setRaw] = useState(false);
  const platform = usePlatform();
  const element = useRef<HTMLDivElement>(null);
  useAnchored(element);
  const present = kinds.filter(({ id }) => id === "all" || detail.steps.some((step) => step.kind === id));
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
            {present.length > 2 && detail.steps.length >= filteredFrom && <Chips label="Steps" options={present} value={shown} onChange={setShown} className={styles.filter} />}
            <Steps detail={detail} shown={shown} />
          </>
        )}
      </Section>
    </div>
  );
}

function Steps({ detail, shown }: { detail: RunDetail; shown: Shown }) {
  const { run, steps, liveText } = detail;
  const visible = steps.filter((step) => shown === "all" || step.kind === shown);
  if (steps.length === 0) return <p className={styles.none}>{nothing(detail)}</p>;
  const last = steps.at(-1);
  return (
    <ol className={styles.timeline} aria-label="Steps">
      {visible.map((step) => (
        <TimelineStep key={step.seq} step={step} begin={run.startedAtMs ?? run.createdAtMs} liveText={step === last ? liveText : null} summary={run.summary} />
      ))}
    </ol>
  );
}

function nothing({ run }: RunDetail): ReactNode {
  if (run.state === "queued") return "It waits for its turn.";
  if (isLive(run.state)) return "It has just begun.";
  if (run.startedAtMs === null) return "It never began, so there are no steps.";
  return "It needed no model and no tool, so there are no steps.";
}
