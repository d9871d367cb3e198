/* Message without an answer: queued, running or awaiting approval. */

import { useNavigate } from "@tanstack/react-router";

import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { InlineCode } from "@/components/InlineCode";
import { useDecisionRefusal, useMay } from "@/data/access";
import { useDecide, useOpenApprovals } from "@/data/approvals";
import { useStopAnswer } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { decisionLabel } from "@/domain/approval/decisionText";
import { ModelText } from "@/domain/ModelText";
import { StateGlyph } from "@/domain/runState";
import { resultLine } from "@/domain/steps";
import { firstLine } from "@/format/text";
import { type DecisionDraft, type OpenMessage, type RunView, type StepView, waitLabels } from "@/platform";

import styles from "./ChatPage.module.css";
import { PersonMessage } from "./EntryView";

interface Props {
  message: OpenMessage;
  /** The transcript already contains the message. */
  isShown: boolean;
  /** Called after the user stops the answer. */
  onStop: () => void;
  /** Returns the text of a message that was stopped before the run started. */
  onReturned: (text: string) => void;
}

export function PendingMessage({ message, isShown, onStop, onReturned }: Props) {
  const { runId, text, atMs, state, liveText } = message;
  const { openExternal } = usePlatform();
  const stop = useStopAnswer();
  const failed = (error: Error) => toast({ title: "Could not stop the run", about: error.message });
  const end = () => {
    const isUntouched = state === "queued" && !isShown;
    // `mutateAsync` reports also after this component is unmounted.
    void stop.mutateAsync({ runId }).then(({ changed }) => {
      if (changed && isUntouched) onReturned(text);
    }, failed);
    onStop();
  };
  return (
    <>
      {!isShown && <PersonMessage text={text} atMs={atMs} />}
      <div className={styles.model}>
        {liveText !== null && liveText.trim() !== "" && <ModelText text={liveText} onOpen={openExternal} />}
        {state === "awaitingApproval" ? (
          <ApprovalRequest runId={runId} />
        ) : (
          <p className={styles.doing}>
            <StateGlyph state={state} size={14} />
            <span role="status">
              {state === "queued" ? (
                "Queued"
              ) : (
                <CurrentStep runId={runId} hasWords={liveText !== null && liveText.trim() !== ""} />
              )}
            </span>
            <Button small look="ghost" isPending={stop.isPending} onPress={end}>
              Stop
            </Button>
          </p>
        )}
      </div>
    </>
  );
}

/** Current step: a tool call, an answer, or a wait. */
function CurrentStep({ runId, hasWords }: { runId: string; hasWords: boolean }) {
  const { data } = useRun(runId);
  const last = data?.steps.at(-1);
  const progress = data?.progress?.find(({ step }) => step === last?.seq)?.text;
  if (last?.kind === "toolCall" && last.status === "started")
    return (
      <>
        Calling <code>{last.name}</code>
        {progress !== undefined && `: ${progress}`}
      </>
    );
  if (hasWords) return "Answering";
  return (
    <Waiting
      run={data?.run}
      failed={data?.steps.findLast(({ kind, status }) => kind === "modelTurn" && status !== "started")}
    />
  );
}

/** Reason and end of a wait. `failed` is the last finished model call. */
function Waiting({ run, failed }: { run: RunView | undefined; failed: StepView | undefined }) {
  const next = run?.nextAttemptAtMs ?? null;
  const until = next !== null && (
    <>
      , next try <Time at={next} />
    </>
  );
  const label = waitLabels[run?.waitsFor ?? "model"];
  if (run?.waitsFor === "rateLimit" || failed?.status !== "failed")
    return (
      <>
        {label}
        {until}
      </>
    );
  return (
    <>
      {label} <code>{failed.name}</code>
      {until || ", retrying"}. <InlineCode text={firstLine(resultLine(failed.output))} />
    </>
  );
}

function ApprovalRequest({ runId }: { runId: string }) {
  const { copyText, openExternal } = usePlatform();
  const decide = useDecide();
  const navigate = useNavigate();
  const mayAdd = useMay("cron.add");
  const refusal = useDecisionRefusal();
  const approval = useOpenApprovals().data?.find((one) => one.runId === runId);
  if (!approval) return null;
  const give = async (given: DecisionDraft) => {
    const decided = await decide(approval.id, given);
    if (!decided.applied) toast({ title: "Already decided", about: `${decisionLabel(decided.approval)}.` });
  };
  return (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      onDecide={give}
      onCopy={copyText}
      onOpen={openExternal}
      onEdit={mayAdd ? () => void navigate({ to: "/jobs/new", search: { ask: approval.id } }) : undefined}
      refusal={refusal}
    />
  );
}
