/* Approval in a run's timeline. */

import { useState } from "react";
import { Button, Disclosure, DisclosurePanel } from "react-aria-components";

import { cx } from "@/components/cx";
import { useNow } from "@/components/useNow";
import { decisionIcons } from "@/domain/approval/decisionIcons";
import { Preview } from "@/domain/approval/Preview";
import { actionOf } from "@/domain/approval/subject";
import { decisionEffect, decisionSummary, type RequestingRun } from "@/domain/approval/decisionText";
import { duration } from "@/format/amount";
import { absolute } from "@/format/time";
import type { ApprovalView } from "@/platform";

import styles from "./Timeline.module.css";

interface Props {
  approval: ApprovalView;
  run: RequestingRun;
  begin: number;
}

export function ApprovalStep({ approval, run, begin }: Props) {
  const [open, setOpen] = useState(false);
  const now = useNow(30_000);
  const { tool, agent, requestReason, state, requestedAtMs, preview } = approval;
  const Icon = decisionIcons[state];
  return (
    <li className={cx(styles.step, state === "pending" && styles.waits)}>
      <span className={styles.node}>
        <Icon size={14} aria-hidden />
      </span>
      <div className={styles.head}>
        <span className={styles.name}>{agent === null ? "Approval requested:" : "Permission requested:"}</span>
        <span className={styles.tool}>{agent ?? tool}</span>
        {state === "pending" && <span className={styles.word}>pending</span>}
        <time
          className={styles.offset}
          dateTime={new Date(requestedAtMs).toISOString()}
          title={absolute(requestedAtMs)}
        >
          +{duration(Math.max(0, requestedAtMs - begin))}
        </time>
      </div>
      <Disclosure isExpanded={open} onExpandedChange={setOpen}>
        <Button slot="trigger" className={styles.summary}>
          <span className={styles.why}>{agent === null ? requestReason : actionOf(approval)}</span>
          {state !== "pending" && <span className={styles.answer}>{decisionSummary(approval, now)}</span>}
        </Button>
        <DisclosurePanel className={styles.panel}>
          <Preview text={preview} call={approval} isAction={agent !== null} />
          {state !== "pending" && <p className={styles.word}>{decisionEffect(approval, run)}</p>}
        </DisclosurePanel>
      </Disclosure>
    </li>
  );
}
