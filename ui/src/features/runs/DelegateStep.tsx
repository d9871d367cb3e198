/* Task of a coding agent in the timeline: folder, the agent's steps, and its report. A long list shows the newest
   steps first. */

import {
  ArrowLeftRight,
  Brain,
  Check,
  CircleX,
  CodeXml,
  Ellipsis,
  FileText,
  FolderInput,
  Globe,
  type LucideIcon,
  Pencil,
  Search,
  SquareTerminal,
  Trash2,
} from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Collapsible } from "@/components/Collapsible";
import { cx } from "@/components/cx";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { usePlatform } from "@/data/platform";
import type { ActionKind, ActionStatus, AgentAction, DelegatedTask } from "@/domain/delegatedTask";
import { ModelText } from "@/domain/ModelText";
import { plural } from "@/format/amount";
import { firstLineRaw } from "@/format/text";
import { showInvisible, showOneLine } from "@/format/visible";

import styles from "./DelegateStep.module.css";
import { callLabel, type StepFrame, StepItem } from "./StepItem";
import timeline from "./Timeline.module.css";

/** Longer lists are collapsed. */
const maxActions = 20;

const kinds: Record<ActionKind, { icon: LucideIcon; word: string }> = {
  read: { icon: FileText, word: "Read" },
  edit: { icon: Pencil, word: "Edit" },
  delete: { icon: Trash2, word: "Delete" },
  move: { icon: FolderInput, word: "Move" },
  search: { icon: Search, word: "Search" },
  execute: { icon: SquareTerminal, word: "Run" },
  think: { icon: Brain, word: "Think" },
  fetch: { icon: Globe, word: "Fetch" },
  switch_mode: { icon: ArrowLeftRight, word: "Switch mode" },
  other: { icon: Ellipsis, word: "Action" },
};

interface Props extends StepFrame {
  task: DelegatedTask;
  /** Newest progress message of a running task. */
  progress: string | undefined;
  /** Text already shown above the timeline. */
  summary: string | null;
  /** The run waits for a decision of the person. */
  isWaiting: boolean;
}

/** Unfinished steps of the agent run, were asked about, or have no end. */
type Phase = "live" | "asked" | "over";

/** State of the engine while a permission request waits, and for good in its journal step. */
const waitsForPermission = "waiting for permission";

export function DelegateStep({ task, step, begin, stopped, progress, summary, isWaiting }: Props) {
  const platform = usePlatform();
  const { agent, folder, state, report, error } = task;
  const asked = state === waitsForPermission;
  const phase = step.status === "started" || (asked && isWaiting) ? "live" : asked ? "asked" : "over";
  const label = phase === "asked" ? "asked for permission" : (state ?? callLabel(step, progress));
  const isSummary = summary !== null && report.trim() === summary.trim();
  return (
    <StepItem
      step={step}
      begin={begin}
      stopped={stopped}
      name={agent}
      icon={CodeXml}
      word={stopped ?? (state === "finished" ? undefined : label)}
    >
      <div className={styles.task}>
        <p className={timeline.word}>
          Coding agent{folder === undefined ? " in the workspace" : " in "}
          {folder !== undefined && (
            <code>
              <VisibleText text={showOneLine(folder)} />
            </code>
          )}
        </p>
        <Collapsible title="Task" summary={<VisibleText text={showInvisible(firstLineRaw(task.task))} />}>
          <p className={styles.text}>
            <VisibleText text={showInvisible(task.task)} />
          </p>
        </Collapsible>
        <Actions task={task} phase={phase} />
        {error !== undefined && stopped === undefined && (
          <p className={styles.error} role="group" aria-label={`Error of ${agent}`}>
            <InlineCode text={showInvisible(error)} />
          </p>
        )}
        {isSummary && <p className={timeline.word}>Same text as the result above</p>}
        {report.trim() !== "" && !isSummary && <ModelText text={report} onOpen={platform.openExternal} />}
      </div>
    </StepItem>
  );
}

function Actions({ task: { agent, actions, earlierSteps }, phase }: { task: DelegatedTask; phase: Phase }) {
  const [isWhole, setWhole] = useState(false);
  const hidden = actions.length - maxActions;
  const shown = isWhole ? actions : actions.slice(-maxActions);
  return (
    <>
      {earlierSteps > 0 && (
        <p className={timeline.word}>{plural(earlierSteps, "earlier step is", "earlier steps are")} not shown.</p>
      )}
      {hidden > 0 && (
        <Button small look="ghost" className={styles.more} onPress={() => setWhole(!isWhole)}>
          {isWhole ? `Show the last ${maxActions} steps` : `Show all ${actions.length} steps`}
        </Button>
      )}
      {shown.length > 0 && (
        <ol className={styles.actions} aria-label={`Steps of ${agent}`} start={actions.length - shown.length + 1}>
          {shown.map((action, i) => (
            <Action key={actions.length - shown.length + i} action={action} phase={phase} />
          ))}
        </ol>
      )}
    </>
  );
}

function Action({ action: { title, kind, status }, phase }: { action: AgentAction; phase: Phase }) {
  const { icon: Icon, word } = kinds[kind];
  const end = endOf(status, phase);
  return (
    <li className={cx(styles.action, status === "failed" && styles.failed)}>
      <span className={styles.icon} title={word}>
        <Icon size={13} aria-hidden />
        <span className="visually-hidden">{word}:</span>
      </span>
      <span className={styles.title}>
        <VisibleText text={showOneLine(title)} />
      </span>
      <span className={styles.end}>
        {status === "completed" && <Check size={13} aria-hidden />}
        {status === "failed" && <CircleX size={13} aria-hidden />}
        <span className={status === "completed" ? "visually-hidden" : undefined}>{end}</span>
      </span>
    </li>
  );
}

function endOf(status: ActionStatus, phase: Phase): string {
  if (status === "completed") return "done";
  if (status === "failed") return "failed";
  if (phase !== "live") return phase === "asked" ? "asked" : "unfinished";
  return status === "pending" ? "pending" : "running";
}
