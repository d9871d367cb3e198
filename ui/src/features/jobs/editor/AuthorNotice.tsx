/* Notice of an agent's authorship. Changing the text makes it the user's; other edits do not. */

import { Link } from "@tanstack/react-router";
import { createContext, use } from "react";

import { VisibleText } from "@/components/VisibleText";
import { type AgentMessage, authorText } from "@/domain/authorship";

import { useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

/** Agent's message in the form; undefined for a user's. */
export const AgentMessageContext = createContext<AgentMessage | undefined>(undefined);

export function AuthorNotice({ name }: { name: "message" | "text" }) {
  const signed = use(AgentMessageContext);
  const { value } = useJobField(name);
  if (signed === undefined) return null;
  const isTask = name === "message";
  if (value !== signed.words) {
    return (
      <p className={styles.hint} role="status">
        {isTask
          ? "Saving makes this your instruction: requests to sites that it names no longer need approval."
          : "Saving makes this your instruction."}
      </p>
    );
  }
  return (
    <p className={styles.hint}>
      Written by <VisibleText text={authorText(signed)} />:{" "}
      {isTask ? "requests to sites that it names need approval." : "treated as information, not as your instruction."}{" "}
      Edit and save it to make it yours.
      {signed.runId !== undefined && (
        <>
          {" "}
          <Link to="/runs/$runId" params={{ runId: signed.runId }} className={styles.link}>
            View run
          </Link>
        </>
      )}
    </p>
  );
}
