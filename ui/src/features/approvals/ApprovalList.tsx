/* Pending approvals, first to expire first, and recent decisions. */

import { useNavigate } from "@tanstack/react-router";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { Time } from "@/components/Time";
import { Countdown } from "@/domain/approval/Countdown";
import { decisionIcons } from "@/domain/approval/decisionIcons";
import { decisionLabel } from "@/domain/approval/decisionText";
import { subjectText } from "@/domain/approval/subject";
import type { ApprovalView } from "@/platform";

import styles from "./ApprovalsPage.module.css";

const maxDecided = 12;

/** Job name of main session runs. */
const chatName = "Chat";

interface Props {
  open: readonly ApprovalView[];
  decided: readonly ApprovalView[];
  shown: string | undefined;
}

export function ApprovalList({ open, decided, shown }: Props) {
  return (
    <div className={styles.list}>
      {open.length > 0 && (
        <>
          <h2>Pending</h2>
          <ul aria-label="Pending approvals">
            {open.map((approval) => (
              <Item key={approval.id} approval={approval} isShown={approval.id === shown} />
            ))}
          </ul>
        </>
      )}
      {decided.length > 0 && (
        <>
          <h2>Recent decisions</h2>
          <ul aria-label="Recent decisions">
            {decided.slice(0, maxDecided).map((approval) => (
              <Item key={approval.id} approval={approval} isShown={approval.id === shown} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Title and subtitle. All approvals of the chat have the same job name, so the subject comes first. */
function namesOf(approval: ApprovalView): [string, string] {
  const { jobId, jobName } = approval;
  const subject = subjectText(approval);
  return jobId === null && jobName === chatName ? [subject, jobName] : [jobName, subject];
}

function Item({ approval, isShown }: { approval: ApprovalView; isShown: boolean }) {
  const { id, state, expiresAtMs, decidedAtMs } = approval;
  const [title, other] = namesOf(approval);
  const isOpen = state === "pending";
  const Icon = decisionIcons[state];
  const navigate = useNavigate();
  // Shortcuts act on the shown approval, so focus selects it.
  const show = () =>
    isShown || void navigate({ to: "/approvals/$approvalId", params: { approvalId: id }, replace: true });
  return (
    <li className={cx(row.row, styles.item, isShown && styles.shown)} aria-current={isShown ? "true" : undefined}>
      <span className={cx(styles.glyph, !isOpen && styles.past)}>
        <Icon size={15} aria-hidden />
      </span>
      <RowLink
        href={`/approvals/${encodeURIComponent(id)}`}
        className={cx(row.link, styles.link, !isOpen && styles.past)}
        onReach={show}
      >
        {title}
      </RowLink>
      <span className={styles.about}>
        <span>{isOpen ? other : `${decisionLabel(approval)} · ${other}`}</span>
        {isOpen ? (
          <Countdown endsAtMs={expiresAtMs} short />
        ) : (
          decidedAtMs !== null && <Time at={decidedAtMs} as="log" />
        )}
      </span>
    </li>
  );
}
