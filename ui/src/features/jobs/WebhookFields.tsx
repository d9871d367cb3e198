/* A job's webhook: its address, its secret while it is new, and the line that calls it. The secret lives in this page's
   memory alone and is gone with it. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { Code } from "@/components/Code";
import { toast } from "@/components/Toasts";
import { usePlatform } from "@/data/platform";
import type { WebhookView } from "@/platform";

import styles from "./Editor.module.css";

export function WebhookFields({ jobId }: { jobId: string | undefined }) {
  return (
    <>
      <p className={styles.hint}>It fires when a program on this computer calls its address with its secret. What is sent is kept with the run; a model is told that it comes from outside.</p>
      {jobId === undefined ? <p className={styles.hint}>Save the job first; its address and its secret are here then.</p> : <Address jobId={jobId} />}
    </>
  );
}

function Address({ jobId }: { jobId: string }) {
  const platform = usePlatform();
  const [view, setView] = useState<WebhookView>();
  const [busy, setBusy] = useState(false);
  const ask = (rotate: boolean) => {
    setBusy(true);
    platform
      .rpc("cron.webhook", { id: jobId, rotate })
      .then(setView, (error: unknown) => toast({ title: "The webhook could not be read", about: error instanceof Error ? error.message : String(error) }))
      .finally(() => setBusy(false));
  };
  if (!view) return <Button isPending={busy} onPress={() => ask(false)} className={styles.fit}>Show address and secret</Button>;
  const shown = view.secret ?? "SECRET";
  return (
    <>
      <Code label="Address" text={view.url} onCopy={platform.copyText} />
      {view.secret === null ? (
        <p className={styles.hint}>The secret was shown when it was made. A new one makes the one before worthless.</p>
      ) : (
        <>
          <Code label="Secret" text={view.secret} onCopy={platform.copyText} />
          <p className={styles.hint} role="status">Keep it now: it is not shown again.</p>
        </>
      )}
      <Code label="Command" text={`curl -X POST -H 'Authorization: Bearer ${shown}' -d 'Hello' ${view.url}`} onCopy={platform.copyText} />
      <Button small isPending={busy} onPress={() => ask(true)} className={styles.fit}>Make a new secret</Button>
    </>
  );
}
