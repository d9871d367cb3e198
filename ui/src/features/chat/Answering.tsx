/* A message that has no answer yet: it waits, it is being answered word by word, or it needs the person's yes. */

import { useNavigate } from "@tanstack/react-router";

import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toasts";
import { Worded } from "@/components/Worded";
import { useAnswer, useOpenApprovals } from "@/data/approvals";
import { useStopAnswer } from "@/data/chat";
import { usePlatform } from "@/data/platform";
import { useRun } from "@/data/queries";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { answerWord } from "@/domain/approval/words";
import { ModelText } from "@/domain/ModelText";
import { StateGlyph } from "@/domain/runState";
import { resultLine } from "@/domain/steps";
import { firstLine } from "@/format/text";
import type { Answer, OpenMessage, RunView, StepView } from "@/platform";

import styles from "./ChatPage.module.css";
import { Words } from "./EntryView";

interface Props {
  message: OpenMessage;
  /** Whether the words stand in the conversation already, as they do once the answer has begun. */
  isSaid: boolean;
  /** The person has stopped the answer: the button that was pressed goes with it. */
  onStop: () => void;
  /** Nothing of the message is left, for it was stopped before its turn came: its words are the person's again. */
  onReturned: (text: string) => void;
}

export function Answering({ message, isSaid, onStop, onReturned }: Props) {
  const { runId, text, atMs, state, liveText } = message;
  const { openExternal } = usePlatform();
  const stop = useStopAnswer();
  const failed = (error: Error) => toast({ title: "It was not stopped", about: error.message });
  const end = () => {
    const isUntouched = state === "queued" && !isSaid;
    // What comes of it is heard of also when this line is gone by then, as it is when the event comes first.
    void stop.mutateAsync({ runId }).then(({ changed }) => {
      if (changed && isUntouched) onReturned(text);
    }, failed);
    onStop();
  };
  return (
    <>
      {!isSaid && <Words text={text} atMs={atMs} />}
      <div className={styles.model}>
        {liveText !== null && liveText.trim() !== "" && <ModelText text={liveText} onOpen={openExternal} />}
        {state === "awaitingApproval" ? (
          <Asked runId={runId} />
        ) : (
          <p className={styles.doing}>
            <StateGlyph state={state} size={14} />
            <span role="status">{state === "queued" ? "Queued" : <Doing runId={runId} hasWords={liveText !== null && liveText.trim() !== ""} />}</span>
            <Button small look="ghost" isPending={stop.isPending} onPress={end}>Stop</Button>
          </p>
        )}
      </div>
    </>
  );
}

/** The present step of a run: a tool call, an answer on its way, or the wait for a model or a rate limit. */
function Doing({ runId, hasWords }: { runId: string; hasWords: boolean }) {
  const { data } = useRun(runId);
  const last = data?.steps.at(-1);
  if (last?.kind === "toolCall" && last.status === "started") return <>Calling <code>{last.name}</code></>;
  if (hasWords) return "Answering";
  return <Waiting run={data?.run} failed={data?.steps.findLast(({ kind, status }) => kind === "modelTurn" && status !== "started")} />;
}

/** What a run waits for, until when, and why. `failed` is the newest model call that has ended. */
function Waiting({ run, failed }: { run: RunView | undefined; failed: StepView | undefined }) {
  const next = run?.nextAttemptAtMs ?? null;
  const until = next !== null && <>, next try <Time at={next} /></>;
  if (run?.waitsFor === "rateLimit") return <>Waiting for a rate limit{until}</>;
  if (failed?.status !== "failed") return <>Waiting for the model{until}</>;
  return <>Waiting for the model <code>{failed.name}</code>{until || ", retrying"}. <Worded text={firstLine(resultLine(failed.output))} /></>;
}

function Asked({ runId }: { runId: string }) {
  const { copyText } = usePlatform();
  const answer = useAnswer();
  const navigate = useNavigate();
  const approval = useOpenApprovals().data?.find((one) => one.runId === runId);
  if (!approval) return null;
  const give = async (given: Answer) => {
    const decided = await answer(approval.id, given);
    if (!decided.counts) toast({ title: "This answer came too late", about: `${answerWord(decided.approval)} already.` });
  };
  return <ApprovalCard key={approval.id} approval={approval} onAnswer={give} onCopy={copyText} onEdit={() => void navigate({ to: "/jobs/new", search: { ask: approval.id } })} />;
}
