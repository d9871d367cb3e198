/* What is shown when the engine cannot be used: this page is not signed in, or nobody answers. */

import type { ReactNode } from "react";

import { Button } from "@/components/Button";
import { Worded } from "@/components/Worded";

import styles from "./Doors.module.css";
import { Mark } from "./Mark";

export function NotSignedIn({ onRetry }: { onRetry: () => void }) {
  return (
    <Door title="This browser is not signed in" action={<Button onPress={onRetry}>Try again</Button>}>
      Run <code>rouse open</code> in a terminal. It opens this page again and signs it in. The link works once, for 30 seconds.
    </Door>
  );
}

export function Unreachable({ onRetry }: { onRetry: () => void }) {
  return (
    <Door title="Rouse is not running" action={<Button onPress={onRetry}>Try again</Button>}>
      Start the app, or run <code>rouse serve</code> in a terminal. Jobs that came due in the meantime are handled when it starts.
    </Door>
  );
}

/** The engine says itself why it cannot work: a newer database, a broken file. */
export function Broken({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <Door title="Rouse could not start" action={<Button onPress={onRetry}>Try again</Button>}>
      <Worded text={error.message} />
    </Door>
  );
}

function Door({ title, children, action }: { title: string; children: ReactNode; action: ReactNode }) {
  return (
    <main className={styles.door}>
      <div className={styles.inside}>
        <Mark size={40} />
        <h1>{title}</h1>
        <p className={styles.text}>{children}</p>
        {action}
      </div>
    </main>
  );
}
