/* Grants, with revocation. Revoking asks first, because a grant cannot be restored. */

import { Link } from "@tanstack/react-router";
import { Hand, ShieldCheck } from "lucide-react";
import { useState } from "react";

import { Button, ButtonLink } from "@/components/Button";
import { Code, pretty } from "@/components/Code";
import { cx } from "@/components/cx";
import { VisibleText } from "@/components/VisibleText";
import { ConfirmDialog } from "@/components/Modal";
import { Page, Section } from "@/components/Page";
import { Empty, Failure, SkeletonRows } from "@/components/Placeholders";
import { Time } from "@/components/Time";
import { useMay } from "@/data/access";
import { useCall } from "@/data/actions";
import { useGrants } from "@/data/approvals";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { coverSentence } from "@/domain/approval/grantDraft";
import { GrantSentenceText } from "@/domain/approval/GrantSentenceText";
import { plural } from "@/format/amount";
import { argumentsLine } from "@/format/text";
import { showUnambiguous, showInvisible } from "@/format/visible";
import type { GrantView } from "@/platform";

import styles from "./GrantsPage.module.css";

export function GrantsPage() {
  const { data, error, isPending, refetch } = useGrants();
  const [revoking, setRevoking] = useState<GrantView>();
  const revoke = useCall("grants.revoke", [keys.grants]);
  const mayRevoke = useMay("grants.revoke");
  const good = data?.filter(({ isValid }) => isValid) ?? [];
  const past = data?.filter(({ isValid }) => !isValid) ?? [];
  return (
    <Page
      title="Grants"
      about="What jobs may do without approval."
      actions={
        <ButtonLink to="/approvals" icon={Hand} look="ghost">
          Needs you
        </ButtonLink>
      }
    >
      {error && !data && <Failure title="Could not load grants." error={error} onRetry={() => void refetch()} />}
      {isPending && <SkeletonRows rows={6} height={64} />}
      {data && good.length === 0 && (
        <Empty icon={ShieldCheck} title="No grants">
          “Always allow…” on an approval creates a grant: for that exact call or for similar calls, for as long as you
          choose.
        </Empty>
      )}
      {good.length > 0 && <Grants label="Active grants" grants={good} onRevoke={mayRevoke ? setRevoking : undefined} />}
      {past.length > 0 && (
        <Section title="Inactive">
          <Grants label="Inactive grants" grants={past} />
        </Section>
      )}
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title="Revoke this grant?"
        confirm="Revoke"
        danger
        onConfirm={() => revoking && revoke.mutateAsync({ id: revoking.id })}
      >
        {revoking &&
          `“${revoking.jobName ?? "Deleted job"}” needs approval again for each such call of ${revoking.tool}. Earlier calls are not undone.`}
      </ConfirmDialog>
    </Page>
  );
}

function Grants({
  label,
  grants,
  onRevoke,
}: {
  label: string;
  grants: readonly GrantView[];
  onRevoke?: ((grant: GrantView) => void) | undefined;
}) {
  return (
    <ul aria-label={label} className={styles.grants}>
      {grants.map((grant) => (
        <li key={grant.id} className={cx(styles.grant, !grant.isValid && styles.past)}>
          <Grant grant={grant} onRevoke={onRevoke} />
        </li>
      ))}
    </ul>
  );
}

function Grant({ grant, onRevoke }: { grant: GrantView; onRevoke?: ((grant: GrantView) => void) | undefined }) {
  const { copyText } = usePlatform();
  const [open, setOpen] = useState(false);
  const { jobId, jobName, tool, covers } = grant;
  return (
    <>
      <div className={styles.head}>
        <p className={styles.what}>
          {jobName === null ? (
            <span>Deleted job</span>
          ) : (
            <Link to="/jobs/$jobId" params={{ jobId }} className={styles.job}>
              <VisibleText text={showInvisible(jobName)} />
            </Link>
          )}{" "}
          may call <code>{tool}</code> <GrantSentenceText sentence={coverSentence(covers)} />
        </p>
        <div className={styles.buttons}>
          <Button small look="ghost" aria-expanded={open} onPress={() => setOpen(!open)}>
            {open ? "Hide details" : "Show details"}
          </Button>
          {onRevoke && (
            <Button
              small
              onPress={() => onRevoke(grant)}
              aria-label={`Revoke: ${tool} for ${jobName ?? "deleted job"}`}
            >
              Revoke
            </Button>
          )}
        </div>
      </div>
      {covers.kind === "exact" && !open && (
        <p className={styles.call}>
          <VisibleText text={showUnambiguous(argumentsLine(covers.arguments))} />
        </p>
      )}
      <p className={styles.facts}>
        <span>{grant.used === 0 ? "Never used" : `Used ${plural(grant.used, "time")}`}</span>
        {grant.usesLeft !== null && grant.isValid && <span>{plural(grant.usesLeft, "use")} left</span>}
        <GrantEnd grant={grant} />
        <span>
          Granted <Time at={grant.createdAtMs} as="log" />
        </span>
      </p>
      {open && (
        <Code
          label={covers.kind === "exact" ? "Arguments" : "Argument rules"}
          text={pretty(covers.kind === "exact" ? covers.arguments : covers.rules)}
          onCopy={copyText}
          unfolded
          isDecision
        />
      )}
    </>
  );
}

function GrantEnd({ grant: { isValid, revokedAtMs, expiresAtMs, usesLeft, voidReason } }: { grant: GrantView }) {
  if (revokedAtMs !== null)
    return (
      <span>
        Revoked <Time at={revokedAtMs} as="log" />
      </span>
    );
  if (voidReason !== null) return <span>{voidReason}</span>;
  if (!isValid && usesLeft === 0) return <span>Used up</span>;
  if (expiresAtMs === null) return <span>No expiry</span>;
  return (
    <span>
      {isValid ? "Expires " : "Expired "}
      <Time at={expiresAtMs} as="within" />
    </span>
  );
}
