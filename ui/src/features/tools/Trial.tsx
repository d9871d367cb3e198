/* What came of a call that was tried: the question it asks, or its answer, how long it took and what the gate said. */

import { type RefObject, useEffect, useRef } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { Failure, SkeletonRows } from "@/components/States";
import { toast } from "@/components/Toasts";
import { useCancelRun } from "@/data/actions";
import { useAnswer } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { answerWord } from "@/domain/approval/words";
import { gateWords } from "@/domain/gate";
import { isLive, StateGlyph } from "@/domain/runState";
import { failureOf, wentWrong } from "@/domain/steps";
import { duration } from "@/format/amount";
import { ended } from "@/format/text";
import type { Answer, ApprovalView, RunDetail, RunView, StepView } from "@/platform";

import styles from "./TryIt.module.css";

/** Where the call was made from. */
type From = RefObject<HTMLElement | null>;

export function Trial({ runId, from }: { runId: string; from: From }) {
  const { data, error, refetch } = useRun(runId);
  if (error && !data) return <Failure title="What came of it could not be read." error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={2} />;
  return <Shown detail={data} from={from} />;
}

function Shown({ detail: { run, steps, approvals }, from }: { detail: RunDetail; from: From }) {
  const asked = approvals.find(({ state }) => state === "pending");
  const call = steps.findLast(({ kind }) => kind === "toolCall");
  const facts = [call && gateWords(call), run.durationMs !== null && call?.durationMs != null && duration(call.durationMs)];
  const place = useRef<HTMLElement>(null);
  useInSight(place, isLive(run.state) ? undefined : run.id, asked?.id, from);
  return (
    <section ref={place} tabIndex={-1} className={styles.trial} aria-label="What came of it">
      {asked ? (
        <Question approval={asked} />
      ) : (
        <>
          <div className={styles.head}>
            <span className={styles.state} role="status">
              <StateGlyph state={run.state} size={15} word />
            </span>
            {!isLive(run.state) && <span className={styles.hint}>{facts.filter(Boolean).join(" · ")}</span>}
            <span className={styles.gap} />
            {isLive(run.state) ? <Stop runId={run.id} /> : <ButtonLink to="/runs/$runId" params={{ runId: run.id }} small look="ghost">Open the run</ButtonLink>}
          </div>
          <Outcome run={run} call={call} />
        </>
      )}
    </section>
  );
}

/** A question comes up below the button, often below the fold, and so does what came of the call: both are brought into sight. Who
    is still at the button is led to the question, so that its keys count. The place takes the focus and not the card, because it
    stays when the question is answered. */
function useInSight(place: RefObject<HTMLElement | null>, result: string | undefined, question: string | undefined, from: From) {
  const shown = question ?? result;
  useEffect(() => {
    if (shown === undefined) return;
    const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    place.current?.scrollIntoView({ block: "nearest", behavior: isCalm ? "instant" : "smooth" });
  }, [place, shown]);
  useEffect(() => {
    if (question === undefined) return;
    if (from.current?.contains(document.activeElement)) place.current?.focus({ preventScroll: true });
  }, [place, question, from]);
}

/** Who has said no knows it: why it was not called is said, not what a model would have been told. */
function Outcome({ run, call }: { run: RunView; call: StepView | undefined }) {
  if (isLive(run.state)) return null;
  if (run.reason !== null) return <p className={styles.hint}>{ended(run.reason)}</p>;
  if (call) return <Result step={call} />;
  return run.error !== null && <p className={styles.wrong}>{run.error}</p>;
}

function Result({ step }: { step: StepView }) {
  const { copyText } = usePlatform();
  const bad = wentWrong(step);
  const shown = bad ? failureOf(step.output) : step.output;
  return <Code label={bad ? "Error" : "Result"} text={pretty(shown)} tone={bad ? "bad" : undefined} onCopy={copyText} />;
}

function Stop({ runId }: { runId: string }) {
  const cancel = useCancelRun();
  const failed = (error: Error) => toast({ title: "It was not stopped", about: error.message });
  return <Button small look="ghost" isPending={cancel.isPending} onPress={() => cancel.mutate({ id: runId }, { onError: failed })}>Stop</Button>;
}

function Question({ approval }: { approval: ApprovalView }) {
  const { copyText } = usePlatform();
  const answer = useAnswer();
  const give = async (given: Answer) => {
    const { counts, approval: decided } = await answer(approval.id, given);
    if (!counts) toast({ title: "This answer came too late", about: `${answerWord(decided)} already.` });
  };
  return <ApprovalCard key={approval.id} approval={approval} onAnswer={give} onCopy={copyText} isOnlyCall />;
}
