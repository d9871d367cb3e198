/* Grants: what jobs may do without asking, since a person said so. Each can be taken back; that asks first, because a grant
   cannot be given back the way it was, only anew by the next question. */

import { Link } from "@tanstack/react-router";
import { Hand, KeyRound, ShieldCheck } from "lucide-react";
import { useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { Marks } from "@/components/Marks";
import { Question } from "@/components/Modal";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/States";
import { Time } from "@/components/Time";
import { Worded } from "@/components/Worded";
import { useCall } from "@/data/actions";
import { useGrants } from "@/data/approvals";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { coverWords } from "@/domain/approval/rules";
import { SaidWords } from "@/domain/approval/SaidWords";
import { valuesWords } from "@/domain/approval/words";
import { plural } from "@/format/amount";
import { argumentsLine } from "@/format/text";
import { unmistakable, visible } from "@/format/visible";
import type { GrantView } from "@/platform";

import styles from "./GrantsPage.module.css";

export function GrantsPage() {
  const { data, error, isPending, refetch } = useGrants();
  const [asked, setAsked] = useState<GrantView>();
  const revoke = useCall("grants.revoke", [keys.grants]);
  const good = data?.filter(({ isGood }) => isGood) ?? [];
  const past = data?.filter(({ isGood }) => !isGood) ?? [];
  return (
    <Page title="Grants" about="What jobs may do without asking you each time." actions={<ButtonLink to="/approvals" icon={Hand} look="ghost">Needs you</ButtonLink>}>
      {error && !data && <Failure title="The grants could not be read." error={error} onRetry={() => void refetch()} />}
      {isPending && <SkeletonRows rows={6} height={64} />}
      {data && good.length === 0 && (
        <Empty icon={ShieldCheck} title="No grants">
          When a job asks for something, “Always…” makes a grant of your answer: for exactly that call, or for calls like it, as long as you say. It stands here then.
        </Empty>
      )}
      {good.length > 0 && <Grants label="Grants in force" grants={good} onRevoke={setAsked} />}
      {past.length > 0 && (
        <Section title="No longer in force">
          <Grants label="Grants no longer in force" grants={past} />
        </Section>
      )}
      <Question
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title="Take this grant back?"
        confirm="Take it back"
        danger
        onConfirm={() => asked && revoke.mutateAsync({ id: asked.id })}
      >
        {asked && `“${asked.jobName ?? "A job that is gone"}” has to ask again before each such call of ${asked.tool}. What it did with the grant stays done.`}
      </Question>
    </Page>
  );
}

function Grants({ label, grants, onRevoke }: { label: string; grants: readonly GrantView[]; onRevoke?: (grant: GrantView) => void }) {
  return (
    <ul aria-label={label} className={styles.grants}>
      {grants.map((grant) => (
        <li key={grant.id} className={cx(styles.grant, !grant.isGood && styles.past)}>
          <Grant grant={grant} onRevoke={onRevoke} />
        </li>
      ))}
    </ul>
  );
}

function Grant({ grant, onRevoke }: { grant: GrantView; onRevoke?: (grant: GrantView) => void }) {
  const { copyText } = usePlatform();
  const [open, setOpen] = useState(false);
  const { jobId, jobName, tool, covers } = grant;
  const values = valuesWords(grant);
  return (
    <>
      <div className={styles.head}>
        <p className={styles.what}>
          {jobName === null ? <span>A job that is gone</span> : <Link to="/jobs/$jobId" params={{ jobId }} className={styles.job}><Marks text={visible(jobName)} /></Link>} may call <code>{tool}</code> <SaidWords said={coverWords(covers)} />
        </p>
        <div className={styles.buttons}>
          <Button small look="ghost" aria-expanded={open} onPress={() => setOpen(!open)}>{open ? "Less" : "Details"}</Button>
          {onRevoke && <Button small onPress={() => onRevoke(grant)} aria-label={`Take back: ${tool} for ${jobName ?? "a job that is gone"}`}>Take back</Button>}
        </div>
      </div>
      {covers.kind === "exact" && !open && <p className={styles.call}><Marks text={unmistakable(argumentsLine(covers.arguments))} /></p>}
      {values !== undefined && <p className={styles.values}><KeyRound size={14} aria-hidden /><span><Worded text={values} /></span></p>}
      <p className={styles.facts}>
        <span>{grant.used === 0 ? "Never used" : `Used ${plural(grant.used, "time")}`}</span>
        {grant.usesLeft !== null && grant.isGood && <span>{plural(grant.usesLeft, "more time")} at most</span>}
        <End grant={grant} />
        <span>Given <Time at={grant.createdAtMs} as="log" /></span>
      </p>
      {open && <Code label={covers.kind === "exact" ? "Arguments" : "What each argument may be"} text={pretty(covers.kind === "exact" ? covers.arguments : covers.rules)} onCopy={copyText} unfolded decided />}
    </>
  );
}

function End({ grant: { isGood, revokedAtMs, expiresAtMs, usesLeft, whyVoid } }: { grant: GrantView }) {
  if (revokedAtMs !== null) return <span>Taken back <Time at={revokedAtMs} as="log" /></span>;
  if (whyVoid !== null) return <span>{whyVoid}</span>;
  if (!isGood && usesLeft === 0) return <span>Used up</span>;
  if (expiresAtMs === null) return <span>No end</span>;
  return <span>{isGood ? "Until " : "Ended "}<Time at={expiresAtMs} as="within" /></span>;
}
