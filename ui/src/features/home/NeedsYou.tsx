/* Pending approvals on Home. Deny works here; allowing and answering require the full view. */

import { Hand } from "lucide-react";
import { use, useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { EngineLostContext } from "@/components/engineLost";
import { Section } from "@/components/Page";
import { toast } from "@/components/Toasts";
import { useClickGuard } from "@/components/useClickGuard";
import { Allowed } from "@/data/access";
import { useDecide, useOpenApprovals } from "@/data/approvals";
import { Countdown } from "@/domain/approval/Countdown";
import { previewLine } from "@/domain/approval/preview";
import { ElapsedTime } from "@/domain/approval/ElapsedTime";
import { decisionLabel } from "@/domain/approval/decisionText";
import { actionOf, subjectText } from "@/domain/approval/subject";
import type { ApprovalView } from "@/platform";

import styles from "./NeedsYou.module.css";

const maxCards = 3;

const lowerFirst = (text: string) => text.charAt(0).toLocaleLowerCase() + text.slice(1);

export function NeedsYou() {
  const { data: waiting = [] } = useOpenApprovals();
  if (waiting.length === 0) return null;
  return (
    <Section
      title="Needs you"
      className={styles.section}
      aside={
        waiting.length > maxCards && (
          <ButtonLink to="/approvals" look="ghost" small>
            All {waiting.length}
          </ButtonLink>
        )
      }
    >
      <ul aria-label="Pending approvals" className={styles.cards}>
        {waiting.slice(0, maxCards).map((approval) => (
          <li key={approval.id}>
            <PendingCard approval={approval} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function PendingCard({ approval }: { approval: ApprovalView }) {
  const { id, tool, jobName, requestReason, preview, agent, requestedAtMs, expiresAtMs, blockedWork, input } = approval;
  const decide = useDecide();
  const armed = useClickGuard(id);
  const [busy, setBusy] = useState(false);
  const isGone = use(EngineLostContext) !== undefined;
  const deny = () => {
    if (!armed || busy) return;
    setBusy(true);
    decide(id, { kind: "deny" }).then(
      (decided) => {
        if (!decided.applied) toast({ title: "Already decided", about: `${decisionLabel(decided.approval)}.` });
      },
      (error: unknown) => {
        setBusy(false);
        toast({ title: "Could not deny", about: error instanceof Error ? error.message : String(error) });
      },
    );
  };
  return (
    <div className={styles.card}>
      <Hand size={16} aria-hidden className={styles.hand} />
      <div className={styles.text}>
        <p className={styles.what}>
          <code>{agent ?? tool}</code> in “<bdi>{jobName}</bdi>”
        </p>
        <p className={styles.call} title={requestReason}>
          {input !== null
            ? `${input.server} asks: ${input.message}`
            : agent !== null
              ? actionOf(approval)
              : previewLine(preview)}
        </p>
        <p className={styles.held} title={blockedWork?.text}>
          Requested <ElapsedTime sinceMs={requestedAtMs} /> ago
          {blockedWork && `. Blocks: ${lowerFirst(blockedWork.text)}`}
        </p>
      </div>
      <Countdown endsAtMs={expiresAtMs} />
      <span className={styles.buttons}>
        <Allowed to="approvals.decide">
          <Button
            small
            look="ghost"
            isDisabled={isGone}
            isPending={busy}
            onPress={deny}
            aria-label={`${input === null ? "Deny" : "Decline"} ${subjectText(approval)} in ${jobName}`}
          >
            {input === null ? "Deny" : "Decline"}
          </Button>
        </Allowed>
        <ButtonLink
          to="/approvals/$approvalId"
          params={{ approvalId: id }}
          small
          aria-label={`${input === null ? "Review" : "Answer"} ${subjectText(approval)} in ${jobName}`}
        >
          {input === null ? "Review" : "Answer"}
        </ButtonLink>
      </span>
    </div>
  );
}
