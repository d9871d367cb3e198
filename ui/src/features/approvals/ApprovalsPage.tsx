/* Needs you: the questions that wait on the left, one of them in full on the right. Its address names the one that is shown,
   so that a notification, the tray and the command line land on it; without a name the one that expires first is shown. */

import { useNavigate, useParams } from "@tanstack/react-router";
import { Hand, SearchX, ShieldCheck } from "lucide-react";
import { useEffect, useRef } from "react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { toast } from "@/components/Toasts";
import { useAnswer, useAnsweredApprovals, useApproval, useApprovalContext, useOpenApprovals } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { answerWord, askingRun } from "@/domain/approval/words";
import { type Answer, type ApprovalView, errorCode, RpcError } from "@/platform";

import styles from "./ApprovalsPage.module.css";
import { ApprovalList } from "./ApprovalList";
import { useWhoAsks } from "./useWhoAsks";

/** The page of `/approvals`. */
export function NeedsYouPage() {
  return <ApprovalsPage />;
}

/** The page of `/approvals/<id>`. */
export function ApprovalPage() {
  const { approvalId } = useParams({ from: "/approvals/$approvalId" });
  return <ApprovalsPage asked={approvalId} />;
}

function ApprovalsPage({ asked }: { asked?: string }) {
  const open = useOpenApprovals();
  const answered = useAnsweredApprovals();
  const shown = asked ?? open.data?.[0]?.id;
  const isQuiet = open.data?.length === 0 && asked === undefined;
  return (
    <Page title="Needs you" actions={<ButtonLink to="/grants" icon={ShieldCheck} look="ghost">Grants</ButtonLink>} className={styles.page}>
      {open.error && !open.data && <Failure title="The questions could not be read." error={open.error} onRetry={() => void open.refetch()} />}
      {open.isPending && <SkeletonRows rows={6} />}
      {open.data && (
        <div className={isQuiet ? undefined : styles.columns}>
          {isQuiet ? (
            <Empty icon={Hand} title="Nothing needs you">
              When a job wants to do something that needs your yes, it asks here and waits. Everything else goes on meanwhile.
            </Empty>
          ) : (
            <div className={styles.card}>{shown !== undefined && <Shown key={shown} id={shown} open={open.data} />}</div>
          )}
          <ApprovalList open={open.data} answered={answered.data ?? []} shown={shown} />
        </div>
      )}
    </Page>
  );
}

function Shown({ id, open }: { id: string; open: readonly ApprovalView[] }) {
  const { copyText } = usePlatform();
  const { data, error, refetch } = useApproval(id);
  const approval = data ?? open.find((one) => one.id === id);
  const navigate = useNavigate();
  const give = useGive(id, open);
  const next = open.find((one) => one.id !== id);
  const who = useWhoAsks(approval);
  const { detail } = useApprovalContext(approval);
  const card = useFocusOnArrival();
  if (error instanceof RpcError && error.code === errorCode.notFound) {
    return (
      <Empty icon={SearchX} title="This question is not there any more" action={<ButtonLink to="/approvals">What needs you</ButtonLink>}>
        Its run may have been cleared from the history, or the link was cut short.
      </Empty>
    );
  }
  if (!approval) return error ? <Failure title="This question could not be read." error={error} onRetry={() => void refetch()} /> : <SkeletonRows rows={6} />;
  return (
    <div ref={card} tabIndex={-1} className={styles.focus}>
      <ApprovalCard
        approval={approval}
        onAnswer={give}
        onCopy={copyText}
        onEdit={() => void navigate({ to: "/jobs/new", search: { ask: id } })}
        who={who}
        run={askingRun(detail, open.filter((one) => one.runId === approval.runId && one.id !== id).length)}
        next={next && <ButtonLink to="/approvals/$approvalId" params={{ approvalId: next.id }} small>Next question</ButtonLink>}
      />
    </div>
  );
}

/** Gives the answer; then the next question comes up. Who was too late stays, and is told what was decided instead. */
function useGive(id: string, open: readonly ApprovalView[]) {
  const answer = useAnswer();
  const navigate = useNavigate();
  return async (given: Answer) => {
    const { counts, approval } = await answer(id, given);
    if (!counts) {
      toast({ title: "This answer came too late", about: `${answerWord(approval)} already.` });
      return;
    }
    const at = open.findIndex((one) => one.id === id);
    const others = open.filter((one) => one.id !== id);
    const next = others[Math.min(Math.max(at, 0), others.length - 1)];
    if (next) void navigate({ to: "/approvals/$approvalId", params: { approvalId: next.id }, replace: true });
    else void navigate({ to: "/approvals/$approvalId", params: { approvalId: id }, replace: true });
  };
}

/** A question that comes up after an answer takes the focus that went with the one before. */
function useFocusOnArrival() {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement === null || activeElement.id === "main") card.current?.focus({ preventScroll: true });
  }, []);
  return card;
}
