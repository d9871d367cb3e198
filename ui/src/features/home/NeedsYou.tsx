/* What waits for the person, above everything else: which call, in which job, how long there is. The whole of it is one press
   away; a no can be given from here, a yes only where everything is seen. */

import { Hand } from "lucide-react";
import { use, useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { GoneSinceContext } from "@/components/gone";
import { Section } from "@/components/Page";
import { toast } from "@/components/Toasts";
import { useArmed } from "@/components/useArmed";
import { useAnswer, useOpenApprovals } from "@/data/approvals";
import { Countdown } from "@/domain/approval/Countdown";
import { previewLine } from "@/domain/approval/preview";
import { Waited } from "@/domain/approval/Waited";
import { answerWord } from "@/domain/approval/words";
import type { ApprovalView } from "@/platform";

import styles from "./NeedsYou.module.css";

const most = 3;

/** As it goes on after a colon. */
const lowered = (text: string) => text.charAt(0).toLocaleLowerCase() + text.slice(1);

export function NeedsYou() {
  const { data: waiting = [] } = useOpenApprovals();
  if (waiting.length === 0) return null;
  return (
    <Section title="Needs you" className={styles.section} aside={waiting.length > most && <ButtonLink to="/approvals" look="ghost" small>All {waiting.length}</ButtonLink>}>
      <ul aria-label="Waiting questions" className={styles.cards}>
        {waiting.slice(0, most).map((approval) => (
          <li key={approval.id}>
            <Waiting approval={approval} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Waiting({ approval }: { approval: ApprovalView }) {
  const { id, tool, jobName, why, preview, askedAtMs, expiresAtMs, holdsUp } = approval;
  const answer = useAnswer();
  const armed = useArmed(id);
  const [busy, setBusy] = useState(false);
  const isGone = use(GoneSinceContext) !== undefined;
  const deny = () => {
    if (!armed || busy) return;
    setBusy(true);
    answer(id, { kind: "deny" }).then(
      (decided) => {
        if (!decided.counts) toast({ title: "This answer came too late", about: `${answerWord(decided.approval)} already.` });
      },
      (error: unknown) => {
        setBusy(false);
        toast({ title: "It was not denied", about: error instanceof Error ? error.message : String(error) });
      },
    );
  };
  return (
    <div className={styles.card}>
      <Hand size={16} aria-hidden className={styles.hand} />
      <div className={styles.text}>
        <p className={styles.what}>
          <code>{tool}</code> in “<bdi>{jobName}</bdi>”
        </p>
        <p className={styles.call} title={why}>{previewLine(preview)}</p>
        <p className={styles.held} title={holdsUp?.text}>
          Waits for <Waited sinceMs={askedAtMs} />{holdsUp && `. Holds up: ${lowered(holdsUp.text)}`}
        </p>
      </div>
      <Countdown endsAtMs={expiresAtMs} />
      <span className={styles.buttons}>
        <Button small look="ghost" isDisabled={isGone} isPending={busy} onPress={deny} aria-label={`Deny ${tool} in ${jobName}`}>Deny</Button>
        <ButtonLink to="/approvals/$approvalId" params={{ approvalId: id }} small aria-label={`Review ${tool} in ${jobName}`}>Review</ButtonLink>
      </span>
    </div>
  );
}
