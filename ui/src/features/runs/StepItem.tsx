/* Frame of a step in the timeline: icon, name, facts, and the result. */

import { Bot, CircleStop, CircleX, type LucideIcon, MessageSquareText, Wrench } from "lucide-react";
import type { ReactNode } from "react";

import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { usePlatform } from "@/data/platform";
import { gateLabel, isRefused } from "@/domain/gate";
import { MovingArc } from "@/domain/ringIcons";
import { costLabel, isFailedStep, stepError, tokensLabel } from "@/domain/steps";
import { duration } from "@/format/amount";
import { absolute } from "@/format/time";
import type { StepView } from "@/platform";

import styles from "./Timeline.module.css";

export interface StepFrame {
  step: StepView;
  /** Start of the run. */
  begin: number;
  /** Label if cancelled with the run. */
  stopped: string | undefined;
}

export function Result({ step, stopped }: Pick<StepFrame, "step"> & { stopped?: string }) {
  const platform = usePlatform();
  if (step.output === null || step.output === undefined) return null;
  const isError = isFailedStep(step);
  const bad = isError && stopped === undefined;
  return (
    <LabelledPart
      label={
        !isError
          ? "Result"
          : stopped !== undefined
            ? stopped
            : step.kind === "toolCall"
              ? "Error sent to the model"
              : "Error"
      }
    >
      <Code
        label="Result"
        text={pretty(isError ? stepError(step.output) : step.output)}
        tone={bad ? "bad" : undefined}
        onCopy={platform.copyText}
      />
    </LabelledPart>
  );
}

export function LabelledPart({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.labelled}>
      <span className={styles.quiet}>{label}</span>
      {children}
    </div>
  );
}

export function StepItem({
  step,
  begin,
  stopped,
  name,
  word,
  icon,
  children,
}: StepFrame & { name: string; word?: string; icon?: LucideIcon; children: ReactNode }) {
  const bad = isFailedStep(step) && stopped === undefined;
  const facts = [
    gateLabel(step),
    tokensLabel(step.usage),
    costLabel(step.usage),
    step.durationMs !== null && step.kind !== "note" && duration(step.durationMs),
  ];
  return (
    <li className={cx(styles.step, bad && styles.bad, step.kind === "note" && styles.note)}>
      <span className={styles.node}>
        <StepIcon step={step} stopped={stopped} icon={icon} />
      </span>
      <div className={styles.head}>
        <span className={step.kind === "toolCall" ? styles.tool : styles.name}>{name}</span>
        {word !== undefined && <span className={styles.word}>{word}</span>}
        <span className={styles.quiet}>{facts.filter(Boolean).join(" · ")}</span>
        <time
          className={styles.offset}
          dateTime={new Date(step.startedAtMs).toISOString()}
          title={absolute(step.startedAtMs)}
        >
          +{duration(Math.max(0, step.startedAtMs - begin))}
        </time>
      </div>
      {children}
    </li>
  );
}

function StepIcon({ step, stopped, icon: Icon = Wrench }: Omit<StepFrame, "begin"> & { icon?: LucideIcon }) {
  if (step.status === "started") return <MovingArc size={15} />;
  if (stopped !== undefined) return <CircleStop size={15} aria-hidden />;
  if (isFailedStep(step)) return <CircleX size={15} aria-hidden />;
  if (step.kind === "modelTurn" || step.kind === "summary") return <Bot size={15} aria-hidden />;
  if (step.kind === "note") return <MessageSquareText size={13} aria-hidden />;
  return <Icon size={14} aria-hidden />;
}

export function callLabel(step: StepView, progress: string | undefined): string | undefined {
  if (step.status === "started") return progress ?? "running";
  if (step.status === "unknown") return "outcome unknown";
  if (step.status === "inputRequired") return "asked for input";
  if (isRefused(step)) return undefined;
  return isFailedStep(step) ? "failed" : undefined;
}
