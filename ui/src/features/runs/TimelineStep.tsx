/* Step: model turn, tool call, note or summary. */

import { useState } from "react";
import { Button, Disclosure, DisclosurePanel } from "react-aria-components";

import { Attachments } from "@/attachments/Attachments";
import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { VisibleText } from "@/components/VisibleText";
import { usePlatform } from "@/data/platform";
import { delegatedTask } from "@/domain/delegatedTask";
import { ModelText } from "@/domain/ModelText";
import { buildToolLabels, toolCheckResult } from "@/domain/toolCheck";
import { calledTools, modelText, resultLine, isFailedStep } from "@/domain/steps";
import { argumentsLine, firstLineRaw } from "@/format/text";
import { showInvisible } from "@/format/visible";

import { DelegateStep } from "./DelegateStep";
import { callLabel, LabelledPart, Result, type StepFrame, StepItem } from "./StepItem";
import styles from "./Timeline.module.css";
import { ToolCheckFacts } from "./ToolCheckFacts";

interface Props extends StepFrame {
  runId: string;
  liveText: string | null;
  /** Newest progress message of a running call. */
  progress?: string;
  /** Text already shown above the timeline. */
  summary: string | null;
  /** The run waits for a decision about this step. */
  isWaiting: boolean;
}

export function TimelineStep({ runId, step, begin, stopped, liveText, progress, summary, isWaiting }: Props) {
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
  const task = delegatedTask(step);
  if (task)
    return (
      <DelegateStep
        task={task}
        step={step}
        begin={begin}
        stopped={stopped}
        progress={progress}
        summary={summary}
        isWaiting={isWaiting}
      />
    );
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
  const check = toolCheckResult(step);
  const word = [buildToolLabels.get(step.name), stopped ?? callLabel(step, progress)].filter(Boolean).join(" · ");
  return (
    <StepItem step={step} begin={begin} stopped={stopped} name={step.name} word={word === "" ? undefined : word}>
      {check && <ToolCheckFacts check={check} />}
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
