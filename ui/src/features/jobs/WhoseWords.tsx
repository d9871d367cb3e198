/* That an agent wrote what a job says to its runs, and that saving it changed makes it the person's. The engine judges by who
   wrote the words last, and only by a change of them: any other edit leaves them an agent's. */

import { Link } from "@tanstack/react-router";
import { createContext, use } from "react";

import { type Signed } from "@/domain/createdBy";

import { useBound } from "./bound";
import styles from "./Editor.module.css";

/** What an agent signed of the job in the form; undefined where the words are a person's. */
export const SignedContext = createContext<Signed | undefined>(undefined);

export function WhoseWords({ name }: { name: "message" | "text" }) {
  const signed = use(SignedContext);
  const { value } = useBound(name);
  if (signed === undefined) return null;
  const isTask = name === "message";
  if (value !== signed.words) {
    return <p className={styles.hint} role="status">{isTask ? "Saving makes this yours: sites that it names are no longer asked about." : "Saving makes this yours."}</p>;
  }
  return (
    <p className={styles.hint}>
      {isTask ? "An agent wrote this, so sites that it names are asked about." : "An agent wrote this, so it is told as information and not as your word."} Saved with changes, it counts as yours.
      {signed.runId !== undefined && <> <Link to="/runs/$runId" params={{ runId: signed.runId }} className={styles.link}>See how</Link></>}
    </p>
  );
}
