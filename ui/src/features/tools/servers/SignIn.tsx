/* Sign-in at a server over HTTP: the button, the wait for the browser, the end. */

import { KeyRound } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { Code } from "@/components/Code";
import { InlineCode } from "@/components/InlineCode";
import { ConfirmDialog } from "@/components/Modal";
import { Time } from "@/components/Time";
import { useExtensionCall, useSignInEnd } from "@/data/extensions";
import { usePlatform } from "@/data/platform";
import { MovingArc } from "@/domain/ringIcons";
import type { ExtensionView, SignInStatus } from "@/platform";

import { ActionError } from "./DialogParts";
import styles from "./Servers.module.css";

interface Props {
  server: ExtensionView;
  signIn: SignInStatus;
}

export function SignIn({ server: { name, state, reason }, signIn }: Props) {
  const { openExternal } = usePlatform();
  const begin = useExtensionCall("extensions.signIn");
  const cancel = useExtensionCall("extensions.cancelSignIn");
  const [unopened, setUnopened] = useState<string>();
  const isPending = signIn.state === "pending";
  useSignInEnd(name, isPending);
  if (!isPending && signIn.state !== "needsSignIn" && state !== "needsSignIn") return null;
  const start = () => {
    setUnopened(undefined);
    cancel.reset();
    begin.mutate({ name }, { onSuccess: ({ url }) => void openExternal(url).catch(() => setUnopened(url)) });
  };
  const error = begin.error ?? cancel.error;
  return (
    <div className={styles.signIn}>
      {isPending ? (
        <>
          <p role="status" className={styles.progress}>
            <span aria-hidden>
              <MovingArc size={16} />
            </span>
            Waiting for the browser …
          </p>
          {unopened !== undefined && (
            <>
              <p className={styles.note}>The browser did not open. Open this address yourself:</p>
              <Code label="Sign-in address" text={unopened} />
            </>
          )}
          <div className={styles.signInActions}>
            <Button small onPress={start} isPending={begin.isPending}>
              Open again
            </Button>
            <Button
              small
              look="ghost"
              aria-label={`Cancel the sign-in at ${name}`}
              onPress={() => cancel.mutate({ name })}
            >
              Cancel
            </Button>
          </div>
        </>
      ) : (
        <>
          {signIn.reason !== undefined && signIn.reason !== reason && (
            <p className={styles.note}>
              <InlineCode text={signIn.reason} />
            </p>
          )}
          <div className={styles.signInActions}>
            <Button
              small
              look="primary"
              icon={KeyRound}
              aria-label={`Sign in at ${name}`}
              onPress={start}
              isPending={begin.isPending}
            >
              Sign in
            </Button>
          </div>
        </>
      )}
      {error && <ActionError error={error} />}
    </div>
  );
}

/** The sign-in in the details of a server. */
export function SignInFact({ name, signIn }: { name: string; signIn: SignInStatus }) {
  const signOut = useExtensionCall("extensions.signOut");
  const [isAsking, setAsking] = useState(false);
  if (signIn.signedInAtMs === undefined) return null;
  return (
    <div className={styles.signInActions}>
      <p className={styles.note}>
        {signIn.state === "needsSignIn" ? "Sign-in expired" : "Signed in"}, last refreshed{" "}
        <Time at={signIn.refreshedAtMs ?? signIn.signedInAtMs} />
      </p>
      <Button small aria-label={`Sign out of ${name}`} onPress={() => setAsking(true)}>
        Sign out
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Sign out of “${name}”?`}
        confirm="Sign out"
        danger
        onConfirm={() => signOut.mutateAsync({ name })}
      >
        The tokens are deleted. Jobs that require this server fail until you sign in again.
      </ConfirmDialog>
    </div>
  );
}
