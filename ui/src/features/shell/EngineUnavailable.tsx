/* Full-page states: not signed in, not running, failed to start. */

import type { ReactNode } from "react";

import { Button } from "@/components/Button";
import { InlineCode } from "@/components/InlineCode";

import styles from "./EngineUnavailable.module.css";
import { Logo } from "./Logo";

export function NotSignedIn({ onRetry }: { onRetry: () => void }) {
  return (
    <FullPageMessage title="This browser is not signed in" action={<Button onPress={onRetry}>Try again</Button>}>
      Run <code>rouse open</code> in a terminal to sign in. The link works once, within 30 seconds. On a phone or
      another computer, open the link of <code>rouse devices pair</code>.
    </FullPageMessage>
  );
}

export function Unreachable({ onRetry }: { onRetry: () => void }) {
  return (
    <FullPageMessage title="Rouse is not running" action={<Button onPress={onRetry}>Try again</Button>}>
      Start the app, or run <code>rouse serve</code> in a terminal. Missed runs are handled when it starts.
    </FullPageMessage>
  );
}

/** The engine's own error, such as a newer database. */
export function EngineFailed({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <FullPageMessage title="Rouse could not start" action={<Button onPress={onRetry}>Try again</Button>}>
      <InlineCode text={error.message} />
    </FullPageMessage>
  );
}

/** Another computer without a connection. The way back to this computer stays open. */
export function ComputerUnavailable({ name, error, onBack }: { name: string; error: Error; onBack: () => void }) {
  return (
    <FullPageMessage title={`${name} is not connected`} action={<Button onPress={onBack}>Show this computer</Button>}>
      <InlineCode text={error.message} /> Rouse keeps trying.
    </FullPageMessage>
  );
}

function FullPageMessage({ title, children, action }: { title: string; children: ReactNode; action: ReactNode }) {
  return (
    <main className={styles.door}>
      <div className={styles.inside}>
        <Logo size={40} />
        <h1>{title}</h1>
        <p className={styles.text}>{children}</p>
        {action}
      </div>
    </main>
  );
}
