/* Pairing of this browser, opened by a link from the computer. */

import { type SyntheticEvent, useEffect, useState } from "react";

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { SkeletonBar } from "@/components/Placeholders";
import { scopeEffect } from "@/domain/deviceScope";
import type { Pairing, PairingOffer } from "@/platform";

import styles from "./EngineUnavailable.module.css";
import { Logo } from "./Logo";

export function PairingPage({ pairing, onPaired }: { pairing: Pairing; onPaired: () => void }) {
  const [offer, setOffer] = useState<PairingOffer>();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    pairing.offer().then(
      (offered) => {
        setOffer(offered);
        setName(offered.name ?? pairing.suggestedName);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, [pairing]);
  const pair = (event: SyntheticEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    pairing
      .pair(name.trim())
      .then(onPaired, (error: unknown) => setProblem(messageOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <main className={styles.door}>
      <div className={styles.inside}>
        <Logo size={40} />
        <h1>{offer ? "Pair this device" : problem === undefined ? "Pairing" : "Not paired"}</h1>
        {offer ? (
          <form className={styles.form} aria-label="Pairing" onSubmit={pair}>
            <p className={styles.text}>{scopeEffect[offer.scope]} You can revoke it on the computer at any time.</p>
            <TextField
              label="Name"
              value={name}
              onChange={setName}
              help="Shown on the computer, and at decisions of this device."
              maxLength={60}
              autoComplete="off"
            />
            <Problem text={problem} />
            <Button look="primary" type="submit" isPending={isBusy} isDisabled={name.trim() === ""}>
              Pair
            </Button>
          </form>
        ) : problem === undefined ? (
          <SkeletonBar width={200} />
        ) : (
          <Problem text={problem} />
        )}
      </div>
    </main>
  );
}

function Problem({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p role="alert" className={styles.problem}>
      <InlineCode text={text} />
    </p>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
