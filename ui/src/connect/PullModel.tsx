/* Pulls a model into an Ollama without models: suggestions, progress, cancel. */

import { useEffect, useEffectEvent } from "react";
import { ProgressBar } from "react-aria-components";

import { Button } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";
import { useCancelPull, usePull, useStartPull } from "@/data/models";
import { bytes } from "@/format/amount";
import type { PullView, SuggestedModelView } from "@/platform";

import styles from "./Connect.module.css";

export function PullModel({ suggested, onPulled }: { suggested: readonly SuggestedModelView[]; onPulled: () => void }) {
  const start = useStartPull();
  const pull = usePull().data?.pull ?? null;
  const state = pull?.state;
  const announce = useEffectEvent(onPulled);
  useEffect(() => {
    if (state === "done") announce();
  }, [state]);
  if (pull?.state === "running") return <PullProgress pull={pull} />;
  return (
    <div className={styles.pull}>
      <p>Ollama has no model yet. Pull one; it stays on this computer.</p>
      <ul className={styles.suggested}>
        {suggested.map(({ name, bytes: size, licence, memoryGb }) => (
          <li key={name}>
            <span className={styles.model}>
              <code>{name}</code>
              <span className={styles.about}>
                {bytes(size)} · {licence} · needs {memoryGb} GB of memory
              </span>
            </span>
            <Button
              small
              isPending={start.isPending && start.variables.model === name}
              onPress={() => start.mutate({ model: name })}
              aria-label={`Pull ${name}`}
            >
              Pull
            </Button>
          </li>
        ))}
      </ul>
      {pull?.state === "cancelled" && (
        <p className={styles.about}>Cancelled. The next pull continues where this one stopped.</p>
      )}
      {pull?.state === "failed" && (
        <p className={styles.error} role="alert">
          <InlineCode text={pull.problem ?? "The pull failed."} />
        </p>
      )}
      {start.error && (
        <p className={styles.error} role="alert">
          <InlineCode text={start.error.message} />
        </p>
      )}
    </div>
  );
}

function PullProgress({ pull }: { pull: PullView }) {
  const cancel = useCancelPull();
  const { model, bytes: here, totalBytes, step } = pull;
  const words = totalBytes > 0 ? `${bytes(here)} of ${bytes(totalBytes)}` : step;
  return (
    <div className={styles.pull}>
      <ProgressBar
        aria-label={`Pulling ${model}`}
        value={totalBytes > 0 ? (here / totalBytes) * 100 : 0}
        isIndeterminate={totalBytes === 0}
        valueLabel={words}
        className={styles.progress}
      >
        {({ percentage }) => (
          <>
            <span className={styles.progressText}>
              <span>
                Pulling <code>{model}</code>
              </span>
              <span className={styles.about}>{words}</span>
            </span>
            <span className={styles.track}>
              <span className={styles.fill} style={{ inlineSize: `${percentage ?? 0}%` }} />
            </span>
          </>
        )}
      </ProgressBar>
      <div className={styles.actions}>
        <Button small isPending={cancel.isPending} onPress={() => cancel.mutate({})}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
