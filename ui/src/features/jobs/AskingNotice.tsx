/* That a run of this job waits for the person: for what, how long yet, and the way to it. */

import { Hand } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { Countdown } from "@/domain/approval/Countdown";
import { plural } from "@/format/amount";
import type { ApprovalView } from "@/platform";

export function AskingNotice({ waiting }: { waiting: readonly ApprovalView[] }) {
  const [first, ...others] = waiting;
  if (!first) return null;
  return (
    <Notice tone="accent" icon={Hand} action={<ButtonLink to="/approvals/$approvalId" params={{ approvalId: first.id }} small>Review</ButtonLink>}>
      A run of this job needs you: may <code>{first.tool}</code> run?{others.length > 0 && ` And ${plural(others.length, "more question")}.`} <Countdown endsAtMs={first.expiresAtMs} />
    </Notice>
  );
}
