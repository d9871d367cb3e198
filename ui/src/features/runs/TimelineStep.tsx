/* Step: model turn, tool call, note or summary. */

import { Bot, CircleStop, CircleX, MessageSquareText, Wrench } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, Disclosure, DisclosurePanel } from "react-aria-components";

import { Attachments } from "@/attachments/Attachments";
import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { VisibleText } from "@/components/VisibleText";
import { usePlatform } from "@/data/platform";
import { gateLabel, isRefused } from "@/domain/gate";
import { ModelText } from "@/domain/ModelText";
import { MovingArc } from "@/domain/ringIcons";
import { calledTools, costLabel, stepError, modelText, resultLine, tokensLabel, isFailedStep } from "@/domain/steps";
import { duration } from "@/format/amount";
import { argumentsLine, firstLineRaw } from "@/format/text";
import { absolute } from "@/format/time";
import { showInvisible } from "@/format/visible";
import type { StepView } from "@/platform";

import styles from "./Timeline.module.css";

interface Props {
  runId: string;
  step: StepView;
  /** Start of the run. */
  begin: number;
  /** Label if cancelled with the run. */
  stopped: string | undefined;
  liveText: string | null;
  /** Newest progress message of a running call. */
  progress?: string;
  /** Text already shown above the timeline. */
  summary: string | null;
}

export function TimelineStep({ runId, step, begin, stopped, liveText, progress, summary }: Props) {
  const platform = usePlatform();
  if (step.kind === "modelTurn") {
    const text = modelText(step.output) || (step.status === "started" ? (liveText ?? "") : "");
    const calls = calledTools(step.output);
    const isSummary = summary !== null && text.trim() === summary.trim();
    return (
      <StepItem step={step} begin={begin} stopped={stopped} name={step.name} word={stopped}>
        {text.trim() === "" && calls.length > 0 && <p className={styles.word}>Calls {calls.join(", ")}</p>}
        {isSummary && <p className={styles.word}>Same text as the result above</p>}
        {text.trim() !== "" && !isSummary && <ModelText text={text} onOpen={platform.openExternal} />}
        {isFailedStep(step) && stopped === undefined && <Result step={step} />}
      </StepItem>
    );
  }
  if (step.kind === "note") {
    return (
      <StepItem
        step={step}
        begin={begin}
        stopped={stopped}
        name={typeof step.output === "string" ? step.output : step.name}
      >
        {null}
      </StepItem>
    );
  }
  if (step.kind === "summary") {
    const text = modelText(step.output);
    return (
      <StepItem
        step={step}
        begin={begin}
        stopped={stopped}
        name={step.name}
        word={
          stopped ??
          (step.status === "finished"
            ? "summarized earlier runs of this session"
            : "summarizing earlier runs of this session")
        }
      >
        {text.trim() !== "" && <ModelText text={text} onOpen={platform.openExternal} />}
        {isFailedStep(step) && stopped === undefined && <Result step={step} />}
      </StepItem>
    );
  }
  return <ToolStep runId={runId} step={step} begin={begin} stopped={stopped} progress={progress} />;
}

/** Tool call and result, each on one line; expandable. */
function ToolStep({
  runId,
  step,
  begin,
  stopped,
  progress,
}: Pick<Props, "runId" | "step" | "begin" | "stopped" | "progress">) {
  const [open, setOpen] = useState(false);
  const line = argumentsLine(step.input);
  return (
    <StepItem step={step} begin={begin} stopped={stopped} name={step.name} word={stopped ?? callLabel(step, progress)}>
      <Disclosure isExpanded={open} onExpandedChange={setOpen}>
        <Button slot="trigger" className={styles.summary}>
          <span className={styles.arguments}>
            {line === "" ? "no arguments" : <VisibleText text={showInvisible(line)} />}
          </span>
          {step.output !== null && !open && (
            <span className={cx(styles.result, isFailedStep(step) && stopped === undefined && styles.wrong)}>
              <VisibleText text={showInvisible(firstLineRaw(resultLine(step.output)))} />
            </span>
          )}
        </Button>
        <DisclosurePanel className={styles.panel}>
          <LabelledPart label="Arguments">
            <Code label="Arguments" text={pretty(step.input ?? {})} onCopy={usePlatform().copyText} />
          </LabelledPart>
          <Result step={step} stopped={stopped} />
          {open && <Attachments runId={runId} step={step} />}
        </DisclosurePanel>
      </Disclosure>
    </StepItem>
  );
}

function Result({ step, stopped }: Pick<Props, "step"> & { stopped?: string }) {
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

function LabelledPart({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.labelled}>
      <span className={styles.quiet}>{label}</span>
      {children}
    </div>
  );
}

function StepItem({
  step,
  begin,
  stopped,
  name,
  word,
  children,
}: Pick<Props, "step" | "begin" | "stopped"> & { name: string; word?: string; children: ReactNode }) {
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
        <StepIcon step={step} stopped={stopped} />
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

function StepIcon({ step, stopped }: Pick<Props, "step" | "stopped">) {
  if (step.status === "started") return <MovingArc size={15} />;
  if (stopped !== undefined) return <CircleStop size={15} aria-hidden />;
  if (isFailedStep(step)) return <CircleX size={15} aria-hidden />;
  if (step.kind === "modelTurn" || step.kind === "summary") return <Bot size={15} aria-hidden />;
  if (step.kind === "note") return <MessageSquareText size={13} aria-hidden />;
  return <Wrench size={14} aria-hidden />;
}

function callLabel(step: StepView, progress: string | undefined): string | undefined {
  if (step.status === "started") return progress ?? "running";
  if (step.status === "unknown") return "outcome unknown";
  if (step.status === "inputRequired") return "asked for input";
  if (isRefused(step)) return undefined;
  return isFailedStep(step) ? "failed" : undefined;
}
