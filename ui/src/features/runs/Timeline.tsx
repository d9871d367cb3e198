/* Steps of a run in order. Keeps the scroll position while a live run grows. */

import { type ReactNode, useRef, useState } from "react";

import { Chips } from "@/components/Choice";
import { Code, pretty } from "@/components/Code";
import { Section } from "@/components/Page";
import { Button } from "@/components/Button";
import { useScrollAnchor } from "@/components/useScrollAnchor";
import { usePlatform } from "@/data/platform";
import { requestingRun } from "@/domain/approval/decisionText";
import { isLive } from "@/domain/runState";
import { stopLabel } from "@/domain/steps";
import type { ApprovalView, RunDetail, StepKind, StepView } from "@/platform";

import { ApprovalStep } from "./ApprovalStep";
import styles from "./Timeline.module.css";
import { TimelineStep } from "./TimelineStep";

type TimelineFilter = "all" | "approval" | StepKind;

const filterFromSteps = 5;

const kinds: readonly { id: TimelineFilter; label: string }[] = [
  { id: "all", label: "All" },
  { id: "modelTurn", label: "Model" },
  { id: "toolCall", label: "Tools" },
  { id: "approval", label: "Approvals" },
  { id: "note", label: "Notes" },
  { id: "summary", label: "Summary" },
];

type TimelineEntry = { at: number; step: StepView } | { at: number; approval: ApprovalView };

/** Steps and approvals in order of time. */
function entriesOf({ steps, approvals }: RunDetail): TimelineEntry[] {
  const all: TimelineEntry[] = [
    ...steps.map((step) => ({ at: step.startedAtMs, step })),
    ...approvals.map((approval) => ({ at: approval.requestedAtMs, approval })),
  ];
  return all.toSorted((a, b) => a.at - b.at);
}

function kindOf(entry: TimelineEntry): TimelineFilter {
  return "step" in entry ? entry.step.kind : "approval";
}

export function Timeline({ detail }: { detail: RunDetail }) {
  const [shown, setShown] = useState<TimelineFilter>("all");
  const [raw, setRaw] = useState(false);
  const platform = usePlatform();
  const element = useRef<HTMLDivElement>(null);
  useScrollAnchor(element);
  const entries = entriesOf(detail);
  const present = kinds.filter(({ id }) => id === "all" || entries.some((entry) => kindOf(entry) === id));
  return (
    <div ref={element}>
      <Section
        title="Timeline"
        aside={
          <Button small look="ghost" onPress={() => setRaw(!raw)}>
            {raw ? "Show timeline" : "Show raw JSON"}
          </Button>
        }
      >
        {raw ? (
          <Code label="Raw JSON" text={pretty(detail)} onCopy={platform.copyText} unfolded />
        ) : (
          <>
            {present.length > 2 && entries.length >= filterFromSteps && (
              <Chips label="Steps" options={present} value={shown} onChange={setShown} className={styles.filter} />
            )}
            <Steps detail={detail} entries={entries} shown={shown} />
          </>
        )}
      </Section>
    </div>
  );
}

function Steps({
  detail,
  entries,
  shown,
}: {
  detail: RunDetail;
  entries: readonly TimelineEntry[];
  shown: TimelineFilter;
}) {
  const { run, steps, liveText, progress } = detail;
  const begin = run.startedAtMs ?? run.createdAtMs;
  const visible = entries.filter((entry) => shown === "all" || kindOf(entry) === shown);
  if (entries.length === 0) return <p className={styles.none}>{noStepsReason(detail)}</p>;
  const last = steps.at(-1);
  const open = detail.approvals.filter(({ state }) => state === "pending");
  return (
    <ol className={styles.timeline} aria-label="Steps">
      {visible.map((entry) =>
        "step" in entry ? (
          <TimelineStep
            key={entry.step.seq}
            runId={run.id}
            step={entry.step}
            begin={begin}
            stopped={stopLabel(entry.step, run)}
            liveText={entry.step === last ? liveText : null}
            progress={progress?.find(({ step }) => step === entry.step.seq)?.text}
            summary={run.summary}
            isWaiting={entry.step === last && open.length > 0}
          />
        ) : (
          <ApprovalStep
            key={entry.approval.id}
            approval={entry.approval}
            run={requestingRun(detail, open.filter(({ id }) => id !== entry.approval.id).length)}
            begin={begin}
          />
        ),
      )}
    </ol>
  );
}

function noStepsReason({ run }: RunDetail): ReactNode {
  if (run.state === "queued") return "Queued.";
  if (isLive(run.state)) return "Just started.";
  if (run.startedAtMs === null) return "Did not start, so there are no steps.";
  if (run.state !== "succeeded" && run.state !== "nothingToReport") return "Stopped before the first step.";
  return "No model or tool was needed, so there are no steps.";
}
