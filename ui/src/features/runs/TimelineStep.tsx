/* One step: a turn of the model, a call of a tool, a note of the engine, or a summary of the session that a model has made. */

import { Bot, CircleStop, CircleX, MessageSquareText, Wrench } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, Disclosure, DisclosurePanel } from "react-aria-components";

import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { Marks } from "@/components/Marks";
import { usePlatform } from "@/data/platform";
import { gateWords, isRefused } from "@/domain/gate";
import { ModelText } from "@/domain/ModelText";
import { MovingArc } from "@/domain/rings";
import { callsOf, costWords, failureOf, modelText, resultLine, tokensLine, wentWrong } from "@/domain/steps";
import { duration } from "@/format/amount";
import { argumentsLine, opening } from "@/format/text";
import { absolute } from "@/format/time";
import { visible } from "@/format/visible";
import type { StepView } from "@/platform";

import styles from "./Timeline.module.css";

interface Props {
  step: StepView;
  /** When the run began, to say how far in the step is. */
  begin: number;
  /** That it was ended with its run, in a word. */
  stopped: string | undefined;
  liveText: string | null;
  /** What is said above the steps already, and is not said again. */
  summary: string | null;
}

export function TimelineStep({ step, begin, stopped, liveText, summary }: Props) {
  const platform = usePlatform();
  if (step.kind === "modelTurn") {
    const text = modelText(step.output) || (step.status === "started" ? (liveText ?? "") : "");
    const calls = callsOf(step.output);
    const isSaid = summary !== null && text.trim() === summary.trim();
    return (
      <Item step={step} begin={begin} stopped={stopped} name={step.name} word={stopped}>
        {text.trim() === "" && calls.length > 0 && <p className={styles.word}>Asks for {calls.join(", ")}</p>}
        {isSaid && <p className={styles.word}>Gives the answer that stands above</p>}
        {text.trim() !== "" && !isSaid && <ModelText text={text} onOpen={platform.openExternal} />}
        {wentWrong(step) && stopped === undefined && <Result step={step} />}
      </Item>
    );
  }
  if (step.kind === "note") {
    return (
      <Item step={step} begin={begin} stopped={stopped} name={typeof step.output === "string" ? step.output : step.name}>
        {null}
      </Item>
    );
  }
  if (step.kind === "summary") {
    const text = modelText(step.output);
    return (
      <Item step={step} begin={begin} stopped={stopped} name={step.name} word={stopped ?? (step.status === "finished" ? "has summed up the earlier runs of this session" : "sums up the earlier runs of this session")}>
        {text.trim() !== "" && <ModelText text={text} onOpen={platform.openExternal} />}
        {wentWrong(step) && stopped === undefined && <Result step={step} />}
      </Item>
    );
  }
  return <ToolStep step={step} begin={begin} stopped={stopped} />;
}

/** A tool's call and what it answered, a line each; all of both behind them. */
function ToolStep({ step, begin, stopped }: Pick<Props, "step" | "begin" | "stopped">) {
  const [open, setOpen] = useState(false);
  const line = argumentsLine(step.input);
  return (
    <Item step={step} begin={begin} stopped={stopped} name={step.name} word={stopped ?? callWord(step)}>
      <Disclosure isExpanded={open} onExpandedChange={setOpen}>
        <Button slot="trigger" className={styles.summary}>
          <span className={styles.arguments}>{line === "" ? "without arguments" : <Marks text={visible(line)} />}</span>
          {step.output !== null && !open && <span className={cx(styles.result, wentWrong(step) && stopped === undefined && styles.wrong)}><Marks text={visible(opening(resultLine(step.output)))} /></span>}
        </Button>
        <DisclosurePanel className={styles.panel}>
          <Labelled label="Arguments">
            <Code label="Arguments" text={pretty(step.input ?? {})} onCopy={usePlatform().copyText} />
          </Labelled>
          <Result step={step} stopped={stopped} />
        </DisclosurePanel>
      </Disclosure>
    </Item>
  );
}

function Result({ step, stopped }: Pick<Props, "step"> & { stopped?: string }) {
  const platform = usePlatform();
  if (step.output === null || step.output === undefined) return null;
  const isError = wentWrong(step);
  const bad = isError && stopped === undefined;
  return (
    <Labelled label={!isError ? "Result" : stopped !== undefined ? stopped : step.kind === "toolCall" ? "Error, as the model was told" : "What went wrong"}>
      <Code label="Result" text={pretty(isError ? failureOf(step.output) : step.output)} tone={bad ? "bad" : undefined} onCopy={platform.copyText} />
    </Labelled>
  );
}

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.labelled}>
      <span className={styles.quiet}>{label}</span>
      {children}
    </div>
  );
}

function Item({ step, begin, stopped, name, word, children }: Pick<Props, "step" | "begin" | "stopped"> & { name: string; word?: string; children: ReactNode }) {
  const bad = wentWrong(step) && stopped === undefined;
  const facts = [gateWords(step), tokensLine(step.usage), costWords(step.usage), step.durationMs !== null && step.kind !== "note" && duration(step.durationMs)];
  return (
    <li className={cx(styles.step, bad && styles.bad, step.kind === "note" && styles.note)}>
      <span className={styles.node}>
        <StepIcon step={step} stopped={stopped} />
      </span>
      <div className={styles.head}>
        <span className={step.kind === "toolCall" ? styles.tool : styles.name}>{name}</span>
        {word !== undefined && <span className={styles.word}>{word}</span>}
        <span className={styles.quiet}>{facts.filter(Boolean).join(" · ")}</span>
        <time className={styles.offset} dateTime={new Date(step.startedAtMs).toISOString()} title={absolute(step.startedAtMs)}>
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
  if (wentWrong(step)) return <CircleX size={15} aria-hidden />;
  if (step.kind === "modelTurn" || step.kind === "summary") return <Bot size={15} aria-hidden />;
  if (step.kind === "note") return <MessageSquareText size={13} aria-hidden />;
  return <Wrench size={14} aria-hidden />;
}

function callWord(step: StepView): string | undefined {
  if (step.status === "started") return "running";
  if (step.status === "unknown") return "outcome unknown";
  if (isRefused(step)) return undefined;
  return wentWrong(step) ? "failed" : undefined;
}
