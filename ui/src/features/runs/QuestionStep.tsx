/* One question of a run in its timeline: what was asked and why, and who answered what, when and where. The run goes on when its
   other questions have an answer as well, so their number belongs to what the answer means. */

import { useState } from "react";
import { Button, Disclosure, DisclosurePanel } from "react-aria-components";

import { cx } from "@/components/cx";
import { useNow } from "@/components/useNow";
import { answerIcon } from "@/domain/approval/icons";
import { Preview } from "@/domain/approval/Preview";
import { afterwards, answerWords, type AskingRun } from "@/domain/approval/words";
import { duration } from "@/format/amount";
import { absolute } from "@/format/time";
import type { ApprovalView } from "@/platform";

import styles from "./Timeline.module.css";

interface Props {
  approval: ApprovalView;
  run: AskingRun;
  begin: number;
}

export function QuestionStep({ approval, run, begin }: Props) {
  const [open, setOpen] = useState(false);
  const now = useNow(30_000);
  const { tool, why, state, askedAtMs, preview } = approval;
  const Icon = answerIcon[state];
  return (
    <li className={cx(styles.step, state === "pending" && styles.waits)}>
      <span className={styles.node}>
        <Icon size={14} aria-hidden />
      </span>
      <div className={styles.head}>
        <span className={styles.name}>Asked you about</span>
        <span className={styles.tool}>{tool}</span>
        {state === "pending" && <span className={styles.word}>waiting</span>}
        <time className={styles.offset} dateTime={new Date(askedAtMs).toISOString()} title={absolute(askedAtMs)}>
          +{duration(Math.max(0, askedAtMs - begin))}
        </time>
      </div>
      <Disclosure isExpanded={open} onExpandedChange={setOpen}>
        <Button slot="trigger" className={styles.summary}>
          <span className={styles.why}>{why}</span>
          {state !== "pending" && <span className={styles.answer}>{answerWords(approval, now)}</span>}
        </Button>
        <DisclosurePanel className={styles.panel}>
          <Preview text={preview} call={approval} />
          {state !== "pending" && <p className={styles.word}>{afterwards(approval, run)}</p>}
        </DisclosurePanel>
      </Disclosure>
    </li>
  );
}
