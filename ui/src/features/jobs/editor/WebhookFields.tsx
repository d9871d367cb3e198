/* Webhook URL, secret and signing key. Secret and key are shown once and kept only in memory. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { Code } from "@/components/Code";
import { toast } from "@/components/Toasts";
import { usePlatform } from "@/data/platform";
import type { WebhookView } from "@/platform";

import styles from "./JobEditor.module.css";

export function WebhookFields({ jobId }: { jobId: string | undefined }) {
  return (
    <>
      <p className={styles.hint}>
        Fires when a program on this computer calls its URL with the secret or a signature. The request is kept with the
        run and treated as untrusted input.
      </p>
      {jobId === undefined ? (
        <p className={styles.hint}>Save the job to get its URL and secret.</p>
      ) : (
        <>
          <WebhookAddress jobId={jobId} />
          <SigningKey jobId={jobId} />
        </>
      )}
    </>
  );
}

function useWebhook(jobId: string, sign: boolean) {
  const platform = usePlatform();
  const [view, setView] = useState<WebhookView>();
  const [busy, setBusy] = useState(false);
  const load = (rotate: boolean) => {
    setBusy(true);
    platform
      .rpc("cron.webhook", { id: jobId, rotate, sign })
      .then(setView, (error: unknown) =>
        toast({
          title: "Could not load the webhook",
          about: error instanceof Error ? error.message : String(error),
        }),
      )
      .finally(() => setBusy(false));
  };
  return { view, busy, load };
}

function WebhookAddress({ jobId }: { jobId: string }) {
  const { view, busy, load } = useWebhook(jobId, false);
  if (!view)
    return (
      <Button isPending={busy} onPress={() => load(false)} className={styles.fit}>
        Show URL and secret
      </Button>
    );
  const shown = view.secret ?? "SECRET";
  return (
    <>
      <LabeledCode label="URL" text={view.url} />
      {view.secret === null ? (
        <p className={styles.hint}>The secret is shown only once. A new secret replaces the old one.</p>
      ) : (
        <>
          <LabeledCode label="Secret" text={view.secret} />
          <ShownOnce />
        </>
      )}
      <LabeledCode label="Command" text={`curl -X POST -H 'Authorization: Bearer ${shown}' -d 'Hello' ${view.url}`} />
      <Button small isPending={busy} onPress={() => load(true)} className={styles.fit}>
        Create new secret
      </Button>
    </>
  );
}

/** The key of callers that sign each request instead of sending the secret. */
function SigningKey({ jobId }: { jobId: string }) {
  const { view, busy, load } = useWebhook(jobId, true);
  if (!view)
    return (
      <Button isPending={busy} onPress={() => load(false)} className={styles.fit}>
        Show signing key
      </Button>
    );
  return (
    <>
      {view.secret === null ? (
        <p className={styles.hint}>The signing key is shown only once. A new key replaces the old one at once.</p>
      ) : (
        <>
          <LabeledCode label="Signing key" text={view.secret} />
          <ShownOnce />
        </>
      )}
      <p className={styles.hint}>
        Callers sign each request as in Standard Webhooks. Settings → Secrets lists the key as {view.signingSecret}.
      </p>
      {view.problem !== null && <p className={styles.hint}>Problem with the key: {view.problem}.</p>}
      <Button small isPending={busy} onPress={() => load(true)} className={styles.fit}>
        Create new signing key
      </Button>
    </>
  );
}

function ShownOnce() {
  return (
    <p className={styles.hint} role="status">
      Copy it now. It is not shown again.
    </p>
  );
}

function LabeledCode({ label, text }: { label: string; text: string }) {
  const { copyText } = usePlatform();
  return (
    <div className={styles.labeled}>
      <span className={styles.label} aria-hidden>
        {label}
      </span>
      <Code label={label} text={text} onCopy={copyText} />
    </div>
  );
}
