/* A model for an Ollama that has none: three suggestions with size and licence, the progress, and a way to stop. */

import { useEffect } from "react";
import { ProgressBar } from "react-aria-components";

import { Button } from "@/components/Button";
import { Worded } from "@/components/Worded";
import { useCancelPull, usePull, useStartPull } from "@/data/models";
import { bytes } from "@/format/amount";
import type { PullView, SuggestedModelView } from "@/platform";

import styles from "./Connect.module.css";

export function PullModel({ suggested, onPulled }: { suggested: readonly SuggestedModelView[]; onPulled: () => void }) {
  const start = useStartPull();
  const pull = usePull().data?.pull ?? null;
  const state = pull?.state;
  useEffect(() => {
    if (state === "done") onPulled();
    // Only the end of a pull counts, not another function of the parent.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state]);
  if (pull?.state === "running") return <Running pull={pull} />;
  return (
    <div className={styles.pull}>
      <p>Ollama has no model yet. Pull one; it stays on this computer.</p>
      <ul className={styles.suggested}>
        {suggested.map(({ name, bytes: size, licence, memoryGb }) => (
          <li key={name}>
            <span className={styles.model}><code>{name}</code><span className={styles.about}>{bytes(size)} · {licence} · needs {memoryGb} GB of memory</span></span>
            <Button small isPending={start.isPending && start.variables.model === name} onPress={() => start.mutate({ model: name })} aria-label={`Pull ${name}`}>Pull</Button>
          </li>
        ))}
      </ul>
      {pull?.state === "cancelled" && <p className={styles.about}>Cancelled. The next pull continues where this one stopped.</p>}
      {pull?.state === "failed" && <p className={styles.error} role="alert"><Worded text={pull.problem ?? "The pull failed."} /></p>}
      {start.error && <p className={styles.error} role="alert"><Worded text={start.error.message} /></p>}
    </div>
  );
}

function Running({ pull }: { pull: PullView }) {
  const cancel = useCancelPull();
  const { model, bytes: here, ofBytes, step } = pull;
  const words = ofBytes > 0 ? `${bytes(here)} of ${bytes(ofBytes)}` : step;
  return (
    <div className={styles.pull}>
      <ProgressBar aria-label={`Pulling ${model}`} value={ofBytes > 0 ? (here / ofBytes) * 100 : 0} isIndeterminate={ofBytes === 0} valueLabel={words} className={styles.progress}>
        {({ percentage }) => (
          <>
            <span className={styles.progressText}><span>Pulling <code>{model}</code></span><span className={styles.about}>{words}</span></span>
            <span className={styles.track}><span className={styles.fill} style={{ inlineSize: `${percentage ?? 0}%` }} /></span>
          </>
        )}
      </ProgressBar>
      <div className={styles.actions}><Button small isPending={cancel.isPending} onPress={() => cancel.mutate({})}>Cancel</Button></div>
    </div>
  );
}
