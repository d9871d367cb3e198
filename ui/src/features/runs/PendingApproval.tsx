/* First pending approval of a run. */

import { useNavigate } from "@tanstack/react-router";

import { ButtonLink } from "@/components/Button";
import { toast } from "@/components/Toasts";
import { useDecisionRefusal, useMay } from "@/data/access";
import { useDecide } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { decisionLabel } from "@/domain/approval/decisionText";
import { plural } from "@/format/amount";
import type { DecisionDraft, RunDetail } from "@/platform";

import styles from "./RunPage.module.css";

export function PendingApproval({ approvals }: Pick<RunDetail, "approvals">) {
  const { copyText, openExternal } = usePlatform();
  const decide = useDecide();
  const navigate = useNavigate();
  const mayAdd = useMay("cron.add");
  const refusal = useDecisionRefusal();
  const [first, ...others] = approvals.filter(({ state }) => state === "pending");
  if (!first) return null;
  const give = async (given: DecisionDraft) => {
    const { applied, approval } = await decide(first.id, given);
    if (!applied) toast({ title: "Already decided", about: `${decisionLabel(approval)}.` });
  };
  return (
    <div className={styles.approval}>
      <ApprovalCard
        key={first.id}
        approval={first}
        onDecide={give}
        onCopy={copyText}
        onOpen={openExternal}
        onEdit={mayAdd ? () => void navigate({ to: "/jobs/new", search: { ask: first.id } }) : undefined}
        refusal={refusal}
      />
      {others.length > 0 && (
        <p className={styles.more}>
          {plural(others.length, "more approval")} pending in this run.
          <ButtonLink to="/approvals" small look="ghost">
            All approvals
          </ButtonLink>
        </p>
      )}
    </div>
  );
}
