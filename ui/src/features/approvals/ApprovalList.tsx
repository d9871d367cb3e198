/* The questions by name: those that wait, the first to expire first, and below them what was decided lately. */

import { useNavigate } from "@tanstack/react-router";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Time } from "@/components/Time";
import { Countdown } from "@/domain/approval/Countdown";
import { answerIcon } from "@/domain/approval/icons";
import { answerWord } from "@/domain/approval/words";
import type { ApprovalView } from "@/platform";

import styles from "./ApprovalsPage.module.css";

/** As many as are looked at again. */
const answeredShown = 12;

/** How a run of the main session calls its job. */
const chatName = "Chat";

interface Props {
  open: readonly ApprovalView[];
  answered: readonly ApprovalView[];
  shown: string | undefined;
}

export function ApprovalList({ open, answered, shown }: Props) {
  return (
    <div className={styles.list}>
      {open.length > 0 && (
        <>
          <h2>Waiting</h2>
          <ul aria-label="Waiting questions">
            {open.map((approval) => <Item key={approval.id} approval={approval} isShown={approval.id === shown} />)}
          </ul>
        </>
      )}
      {answered.length > 0 && (
        <>
          <h2>Decided lately</h2>
          <ul aria-label="Decided questions">
            {answered.slice(0, answeredShown).map((approval) => <Item key={approval.id} approval={approval} isShown={approval.id === shown} />)}
          </ul>
        </>
      )}
    </div>
  );
}

/** What tells a question from its neighbours, and what else there is to it: all questions of the chat have one name, so their tool
    comes first. */
function namesOf({ tool, jobId, jobName }: ApprovalView): [string, string] {
  return jobId === null && jobName === chatName ? [tool, jobName] : [jobName, tool];
}

function Item({ approval, isShown }: { approval: ApprovalView; isShown: boolean }) {
  const { id, state, expiresAtMs, decidedAtMs } = approval;
  const [title, other] = namesOf(approval);
  const isOpen = state === "pending";
  const Icon = answerIcon[state];
  const navigate = useNavigate();
  // The keys answer the question that is shown, so it is the one that they have come to.
  const show = () => isShown || void navigate({ to: "/approvals/$approvalId", params: { approvalId: id }, replace: true });
  return (
    <li className={cx(row.row, styles.item, isShown && styles.shown)} aria-current={isShown ? "true" : undefined}>
      <span className={cx(styles.glyph, !isOpen && styles.past)}><Icon size={15} aria-hidden /></span>
      <RowLink href={`/approvals/${encodeURIComponent(id)}`} className={cx(row.link, styles.link, !isOpen && styles.past)} onReach={show}>
        {title}
      </RowLink>
      <span className={styles.about}>
        <span>{isOpen ? other : `${answerWord(approval)} · ${other}`}</span>
        {isOpen ? <Countdown endsAtMs={expiresAtMs} short /> : decidedAtMs !== null && <Time at={decidedAtMs} as="log" />}
      </span>
    </li>
  );
}
