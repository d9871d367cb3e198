/* Webhook URL and secret. The secret is shown once and kept only in memory. */

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
        Fires when a program on this computer calls its URL with the secret. The request is kept with the run and
        treated as untrusted input.
      </p>
      {jobId === undefined ? (
        <p className={styles.hint}>Save the job to get its URL and secret.</p>
      ) : (
        <WebhookAddress jobId={jobId} />
      )}
    </>
  );
}

function WebhookAddress({ jobId }: { jobId: string }) {
  const platform = usePlatform();
  const [view, setView] = useState<WebhookView>();
  const [busy, setBusy] = useState(false);
  const load = (rotate: boolean) => {
    setBusy(true);
    platform
      .rpc("cron.webhook", { id: jobId, rotate })
      .then(setView, (error: unknown) =>
        toast({
          title: "Could not load the webhook",
          about: error instanceof Error ? error.message : String(error),
        }),
      )
      .finally(() => setBusy(false));
  };
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
          <p className={styles.hint} role="status">
            Copy it now. It is not shown again.
          </p>
        </>
      )}
      <LabeledCode label="Command" text={`curl -X POST -H 'Authorization: Bearer ${shown}' -d 'Hello' ${view.url}`} />
      <Button small isPending={busy} onPress={() => load(true)} className={styles.fit}>
        Create new secret
      </Button>
    </>
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
