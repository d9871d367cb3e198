/* Needs you: list of approvals, and the selected approval. Selects the earliest expiry by default. */

import { useNavigate, useParams } from "@tanstack/react-router";
import { Hand, SearchX, ShieldCheck } from "lucide-react";
import { useEffect, useRef } from "react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { toast } from "@/components/Toasts";
import { useDecisionRefusal, useMay } from "@/data/access";
import { useApproval, useApprovalContext, useDecide, useDecidedApprovals, useOpenApprovals } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { decisionLabel, requestingRun } from "@/domain/approval/decisionText";
import { type ApprovalView, type DecisionDraft, errorCode, RpcError } from "@/platform";

import styles from "./ApprovalsPage.module.css";
import { ApprovalList } from "./ApprovalList";
import { useRequestFacts } from "./useRequestFacts";

/** Route `/approvals`. */
export function NeedsYouPage() {
  return <ApprovalsPage />;
}

/** Route `/approvals/<id>`. */
export function ApprovalPage() {
  const { approvalId } = useParams({ from: "/approvals/$approvalId" });
  return <ApprovalsPage approvalId={approvalId} />;
}

function ApprovalsPage({ approvalId }: { approvalId?: string }) {
  const open = useOpenApprovals();
  const decided = useDecidedApprovals();
  const shown = approvalId ?? open.data?.[0]?.id;
  const isQuiet = open.data?.length === 0 && approvalId === undefined;
  return (
    <Page
      title="Needs you"
      actions={
        <ButtonLink to="/grants" icon={ShieldCheck} look="ghost">
          Grants
        </ButtonLink>
      }
      className={styles.page}
    >
      {open.error && !open.data && (
        <Failure title="Could not load approvals." error={open.error} onRetry={() => void open.refetch()} />
      )}
      {open.isPending && <SkeletonRows rows={6} />}
      {open.data && (
        <div className={isQuiet ? undefined : styles.columns}>
          {isQuiet ? (
            <Empty icon={Hand} title="You’re all caught up">
              A call that needs your approval appears here, and its run waits. Other runs continue.
            </Empty>
          ) : (
            <div className={styles.card}>
              {shown !== undefined && <ShownApproval key={shown} id={shown} open={open.data} />}
            </div>
          )}
          <ApprovalList open={open.data} decided={decided.data ?? []} shown={shown} />
        </div>
      )}
    </Page>
  );
}

function ShownApproval({ id, open }: { id: string; open: readonly ApprovalView[] }) {
  const { copyText, openExternal } = usePlatform();
  const { data, error, refetch } = useApproval(id);
  const approval = data ?? open.find((one) => one.id === id);
  const navigate = useNavigate();
  const mayAdd = useMay("cron.add");
  const refusal = useDecisionRefusal();
  const give = useDecideAndAdvance(id, open);
  const next = open.find((one) => one.id !== id);
  const requestFacts = useRequestFacts(approval);
  const { detail } = useApprovalContext(approval);
  const card = useFocusOnMount();
  if (error instanceof RpcError && error.code === errorCode.notFound) {
    return (
      <Empty icon={SearchX} title="Approval not found" action={<ButtonLink to="/approvals">All approvals</ButtonLink>}>
        Its run was deleted from the history, or the link is incomplete.
      </Empty>
    );
  }
  if (!approval)
    return error ? (
      <Failure title="Could not load the approval." error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={6} />
    );
  return (
    <div ref={card} tabIndex={-1} className={styles.focus}>
      <ApprovalCard
        approval={approval}
        onDecide={give}
        onCopy={copyText}
        onOpen={openExternal}
        onEdit={mayAdd ? () => void navigate({ to: "/jobs/new", search: { ask: id } }) : undefined}
        refusal={refusal}
        requestFacts={requestFacts}
        run={requestingRun(detail, open.filter((one) => one.runId === approval.runId && one.id !== id).length)}
        next={
          next && (
            <ButtonLink to="/approvals/$approvalId" params={{ approvalId: next.id }} small>
              Next approval
            </ButtonLink>
          )
        }
      />
    </div>
  );
}

/** Sends the decision and shows the next approval. After a late decision, the page shows the earlier decision. */
function useDecideAndAdvance(id: string, open: readonly ApprovalView[]) {
  const decide = useDecide();
  const navigate = useNavigate();
  return async (given: DecisionDraft) => {
    const { applied, approval } = await decide(id, given);
    if (!applied) {
      toast({ title: "Already decided", about: `${decisionLabel(approval)}.` });
      return;
    }
    const at = open.findIndex((one) => one.id === id);
    const others = open.filter((one) => one.id !== id);
    const next = others[Math.min(Math.max(at, 0), others.length - 1)];
    if (next) void navigate({ to: "/approvals/$approvalId", params: { approvalId: next.id }, replace: true });
    else void navigate({ to: "/approvals/$approvalId", params: { approvalId: id }, replace: true });
  };
}

/** Takes over the focus of the previous approval. */
function useFocusOnMount() {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement === null || activeElement.id === "main")
      card.current?.focus({ preventScroll: true });
  }, []);
  return card;
}
