/* Result of a tool trial: approval, state, output. */

import { type RefObject, useEffect, useRef } from "react";

import { Attachments } from "@/attachments/Attachments";
import { Button, ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Failure, SkeletonRows } from "@/components/Placeholders";
import { toast } from "@/components/Toasts";
import { useCancelRun } from "@/data/actions";
import { useDecide } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { decisionLabel } from "@/domain/approval/decisionText";
import { gateLabel } from "@/domain/gate";
import { isLive, StateGlyph } from "@/domain/runState";
import { stepError, isFailedStep } from "@/domain/steps";
import { duration } from "@/format/amount";
import { withFullStop } from "@/format/text";
import type { ApprovalView, DecisionDraft, RunDetail, RunView, StepView } from "@/platform";

import styles from "./TryTool.module.css";

/** Element that started the call. */
type From = RefObject<HTMLElement | null>;

export function TrialResult({ runId, from }: { runId: string; from: From }) {
  const { data, error, refetch } = useRun(runId);
  if (error && !data)
    return <Failure title="Could not load the result." error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={2} />;
  return <ShownTrial detail={data} from={from} />;
}

function ShownTrial({ detail: { run, steps, approvals }, from }: { detail: RunDetail; from: From }) {
  const pendingApproval = approvals.find(({ state }) => state === "pending");
  const call = steps.findLast(({ kind }) => kind === "toolCall");
  const facts = [
    call && gateLabel(call),
    run.durationMs !== null && call?.durationMs != null && duration(call.durationMs),
  ];
  const place = useRef<HTMLElement>(null);
  useScrollIntoView(place, isLive(run.state) ? undefined : run.id, pendingApproval?.id, from);
  return (
    <section ref={place} tabIndex={-1} className={styles.trial} aria-label="Trial result">
      {pendingApproval ? (
        <TrialApproval approval={pendingApproval} />
      ) : (
        <>
          <div className={styles.head}>
            <span className={styles.state} role="status">
              <StateGlyph state={run.state} size={15} word />
            </span>
            {!isLive(run.state) && <span className={styles.hint}>{facts.filter(Boolean).join(" · ")}</span>}
            <span className={styles.gap} />
            {isLive(run.state) ? (
              <Stop runId={run.id} />
            ) : (
              <ButtonLink to="/runs/$runId" params={{ runId: run.id }} small look="ghost">
                Open run
              </ButtonLink>
            )}
          </div>
          <TrialOutcome run={run} call={call} />
        </>
      )}
    </section>
  );
}

/** Scrolls approval and result into view. Focus moves from the button to the approval, to activate the shortcuts. */
function useScrollIntoView(
  place: RefObject<HTMLElement | null>,
  result: string | undefined,
  approval: string | undefined,
  from: From,
) {
  const shown = approval ?? result;
  useEffect(() => {
    if (shown === undefined) return;
    const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    place.current?.scrollIntoView({ block: "nearest", behavior: isCalm ? "instant" : "smooth" });
  }, [place, shown]);
  useEffect(() => {
    if (approval === undefined) return;
    if (from.current?.contains(document.activeElement)) place.current?.focus({ preventScroll: true });
  }, [place, approval, from]);
}

/** Shows the reason instead of the text for the model. */
function TrialOutcome({ run, call }: { run: RunView; call: StepView | undefined }) {
  if (isLive(run.state)) return null;
  if (run.reason !== null) return <p className={styles.hint}>{withFullStop(run.reason)}</p>;
  if (call)
    return (
      <>
        <Result step={call} />
        <Attachments runId={run.id} step={call} />
      </>
    );
  return run.error !== null && <p className={styles.wrong}>{run.error}</p>;
}

function Result({ step }: { step: StepView }) {
  const { copyText } = usePlatform();
  const bad = isFailedStep(step);
  const shown = bad ? stepError(step.output) : step.output;
  return (
    <Code label={bad ? "Error" : "Result"} text={pretty(shown)} tone={bad ? "bad" : undefined} onCopy={copyText} />
  );
}

function Stop({ runId }: { runId: string }) {
  const cancel = useCancelRun();
  const failed = (error: Error) => toast({ title: "Could not stop the run", about: error.message });
  return (
    <Button
      small
      look="ghost"
      isPending={cancel.isPending}
      onPress={() => cancel.mutate({ id: runId }, { onError: failed })}
    >
      Stop
    </Button>
  );
}

function TrialApproval({ approval }: { approval: ApprovalView }) {
  const { copyText, openExternal } = usePlatform();
  const decide = useDecide();
  const give = async (given: DecisionDraft) => {
    const { applied, approval: decided } = await decide(approval.id, given);
    if (!applied) toast({ title: "Already decided", about: `${decisionLabel(decided)}.` });
  };
  return (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      onDecide={give}
      onCopy={copyText}
      onOpen={openExternal}
      isOnlyCall
    />
  );
}
