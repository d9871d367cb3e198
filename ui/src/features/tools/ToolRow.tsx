/* Row of a tool. */

import { Container, Eye, Hand, ShieldAlert, UserRound } from "lucide-react";

import { cx } from "@/components/cx";
import row from "@/components/Row.module.css";
import { RowLink } from "@/components/RowLink";
import { InlineCode } from "@/components/InlineCode";
import { approverOf, approvalNeed, approvalLabel, type JobPermissions, firstSentence, rightsOf } from "@/domain/tools";
import type { ToolView } from "@/platform";

import styles from "./ToolsPage.module.css";

const icons = { never: Eye, some: Hand, first: Hand, always: ShieldAlert } as const;

interface Props {
  tool: ToolView;
  /** Job of the list, if any. */
  job?: JobPermissions;
}

export function ToolRow({ tool, job }: Props) {
  const { name, label, description, callsPerMinute } = tool;
  return (
    <div className={cx(row.row, styles.tool)}>
      <RowLink href={`/tools/${encodeURIComponent(name)}`} className={cx(row.link, styles.name)}>
        {name}
      </RowLink>
      <span className={row.text} title={description}>
        {label !== null && (
          <>
            <strong>{label}</strong> ·{" "}
          </>
        )}
        <InlineCode text={firstSentence(description)} />
      </span>
      <RightsBadge tool={tool} job={job} />
      <ApprovalBadge tool={tool} job={job} />
      <span className={cx(row.small, row.end, styles.rate)}>{callsPerMinute !== null && `${callsPerMinute}/min`}</span>
    </div>
  );
}

/** Shown for rights other than Rouse's. */
function RightsBadge({ tool, job }: Props) {
  const rights = rightsOf(tool, job);
  if (rights === "rouse") return null;
  return rights === "sandbox" ? (
    <span className={cx(row.small, styles.badge)} title="In the sandbox when a model or “Try it” calls it">
      <Container size={13} aria-hidden /> Sandbox
    </span>
  ) : (
    <span
      className={cx(row.small, styles.badge, styles.careful)}
      title="Outside the sandbox, with your full permissions"
    >
      <UserRound size={13} aria-hidden /> <span className={styles.word}>Your permissions</span>
    </span>
  );
}

export function ApprovalBadge({ tool, job }: Props) {
  const need = approverOf(job) === "author" ? "never" : approvalNeed(tool);
  const Icon = icons[need];
  return (
    <span className={cx(row.small, styles.need, need !== "never" && styles.careful)}>
      <Icon size={13} aria-hidden /> {approvalLabel(tool, job)}
    </span>
  );
}
