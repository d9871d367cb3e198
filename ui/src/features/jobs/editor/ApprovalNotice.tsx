/* Notice that a run of this job awaits approval. */

import { Hand } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { ApprovalSubject } from "@/domain/approval/ApprovalSubject";
import { Countdown } from "@/domain/approval/Countdown";
import { plural } from "@/format/amount";
import type { ApprovalView } from "@/platform";

export function ApprovalNotice({ pendingApprovals }: { pendingApprovals: readonly ApprovalView[] }) {
  const [first, ...others] = pendingApprovals;
  if (!first) return null;
  return (
    <Notice
      tone="accent"
      icon={Hand}
      action={
        <ButtonLink to="/approvals/$approvalId" params={{ approvalId: first.id }} small>
          Review
        </ButtonLink>
      }
    >
      A run needs your approval for <ApprovalSubject approval={first} />.
      {others.length > 0 && ` ${plural(others.length, "more approval")} pending.`}{" "}
      <Countdown endsAtMs={first.expiresAtMs} />
    </Notice>
  );
}
