/* Tools that wait for a person: whole descriptions, claims, schemas, differences, and a choice of access for each. */

import { useState } from "react";

import { Segmented } from "@/components/Choice";
import { Code, pretty } from "@/components/Code";
import { Collapsible } from "@/components/Collapsible";
import { InlineCode } from "@/components/InlineCode";
import { InvisibleCount, VisibleText } from "@/components/VisibleText";
import { Preview } from "@/domain/approval/Preview";
import { accessChoices, hintLabels } from "@/domain/toolAccess";
import { plural } from "@/format/amount";
import { showUnambiguous } from "@/format/visible";
import type { HeldTool, RefusedToolView, ServerToolsPage, ToolAccess } from "@/platform";

import { definitionText, lineDiff } from "./toolDiff";
import styles from "./Servers.module.css";

interface Props {
  found: ServerToolsPage;
  /** Id of the form, for a submit button outside. */
  formId: string;
  onAccept: (access: Record<string, ToolAccess>) => void;
}

export function HeldTools({ found, formId, onAccept }: Props) {
  const { page, proposals, refused, instructions } = found;
  const [access, setAccess] = useState<Record<string, ToolAccess>>(proposals);
  const accessOf = (name: string): ToolAccess => access[name] ?? "ask";
  return (
    <form
      id={formId}
      className={styles.form}
      aria-label={`Tools of ${page.extension}`}
      onSubmit={(event) => {
        event.preventDefault();
        onAccept(Object.fromEntries(page.tools.map(({ offered: { name } }) => [name, accessOf(name)])));
      }}
    >
      <p className={styles.note}>
        {page.tools.length === 0
          ? `No tool of ${page.extension} waits for you.`
          : `${plural(page.tools.length, "tool")} to review. Models read these descriptions. The claims of the server change nothing; your choice does.`}
      </p>
      {instructions !== null && (
        <Collapsible title="Instructions of the server" summary="shown to no model">
          <Code label="Instructions" text={instructions} unfolded isDecision />
        </Collapsible>
      )}
      {page.tools.map((held) => (
        <HeldToolCard
          key={held.offered.name}
          held={held}
          access={accessOf(held.offered.name)}
          onChange={(next) => setAccess({ ...access, [held.offered.name]: next })}
        />
      ))}
      <RefusedTools refused={refused} />
    </form>
  );
}

interface CardProps {
  held: HeldTool;
  access: ToolAccess;
  onChange: (access: ToolAccess) => void;
}

function HeldToolCard({ held: { change, accepted, offered }, access, onChange }: CardProps) {
  const name = showUnambiguous(offered.name);
  const description = showUnambiguous(offered.description);
  return (
    <article className={styles.held} aria-label={offered.name}>
      <h3 className={styles.heldHead}>
        <code>
          <VisibleText text={name} />
        </code>
        <span className={styles.tag}>{change === "new" ? "New" : "Changed since you accepted it"}</span>
      </h3>
      {offered.title !== undefined && (
        <p>
          <VisibleText text={showUnambiguous(offered.title)} />
        </p>
      )}
      <p className={styles.quoted}>
        {offered.description === "" ? "No description." : <VisibleText text={description} />}
      </p>
      <InvisibleCount text={description} />
      <p className={styles.claims}>
        Server says:
        {hintLabels(offered.hints).map((label) => (
          <span key={label} className={styles.tag}>
            {label}
          </span>
        ))}
      </p>
      {accepted && (
        <Collapsible title="Difference" summary="accepted and offered definition" defaultExpanded>
          <Preview
            label={`Difference of ${offered.name}`}
            text={showUnambiguous(lineDiff(definitionText(accepted), definitionText(offered)))}
          />
        </Collapsible>
      )}
      <Collapsible title="Arguments" summary="JSON Schema">
        <Code label={`Arguments of ${offered.name}`} text={pretty(offered.inputSchema)} unfolded isDecision />
        {offered.outputSchema !== undefined && (
          <Code label={`Result of ${offered.name}`} text={pretty(offered.outputSchema)} unfolded isDecision />
        )}
      </Collapsible>
      <Segmented
        label={`Access of ${offered.name}`}
        options={accessChoices}
        value={access}
        onChange={onChange}
        className={styles.access}
      />
      <p className={styles.note}>{accessChoices.find(({ id }) => id === access)?.about}</p>
    </article>
  );
}

/** Tools that can never be offered, with the reasons. */
export function RefusedTools({ refused }: { refused: readonly RefusedToolView[] }) {
  if (refused.length === 0) return null;
  return (
    <ul className={styles.refused} aria-label="Tools not offered">
      {refused.map(({ name, reason }) => (
        <li key={name}>
          <code>
            <VisibleText text={showUnambiguous(name)} />
          </code>{" "}
          is not offered. <InlineCode text={reason} />
        </li>
      ))}
    </ul>
  );
}
