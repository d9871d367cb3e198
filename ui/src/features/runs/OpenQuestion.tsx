/* The question that holds this run up, in full, to be answered where the run is looked at. Of several the first is shown; the
   next one comes up after its answer. */

import { useNavigate } from "@tanstack/react-router";

import { ButtonLink } from "@/components/Button";
import { toast } from "@/components/Toasts";
import { useAnswer } from "@/data/approvals";
import { usePlatform } from "@/data/platform";
import { ApprovalCard } from "@/domain/approval/ApprovalCard";
import { answerWord } from "@/domain/approval/words";
import { plural } from "@/format/amount";
import type { Answer, RunDetail } from "@/platform";

import styles from "./RunPage.module.css";

export function OpenQuestion({ approvals }: Pick<RunDetail, "approvals">) {
  const { copyText } = usePlatform();
  const answer = useAnswer();
  const navigate = useNavigate();
  const [first, ...others] = approvals.filter(({ state }) => state === "pending");
  if (!first) return null;
  const give = async (given: Answer) => {
    const { counts, approval } = await answer(first.id, given);
    if (!counts) toast({ title: "This answer came too late", about: `${answerWord(approval)} already.` });
  };
  return (
    <div className={styles.question}>
      <ApprovalCard key={first.id} approval={first} onAnswer={give} onCopy={copyText} onEdit={() => void navigate({ to: "/jobs/new", search: { ask: first.id } })} />
      {others.length > 0 && (
        <p className={styles.more}>
          {plural(others.length, "more question")} of this run after this one.
          <ButtonLink to="/approvals" small look="ghost">All that needs you</ButtonLink>
        </p>
      )}
    </div>
  );
}
