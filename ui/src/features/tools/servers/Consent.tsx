/* Page of a definition and its package, read before the installation. */

import { TriangleAlert } from "lucide-react";

import { InlineCode } from "@/components/InlineCode";
import { Notice } from "@/components/Notice";
import { VisibleText } from "@/components/VisibleText";
import { showInvisible } from "@/format/visible";
import type { ConsentPage } from "@/platform";

import { DefinitionFacts, isCodingAgent, isSameDefinition, wantedSecrets } from "./DefinitionFacts";
import { StepStart } from "./DialogParts";
import { PlanFacts, programWord, withProgramWord } from "./PackageFacts";
import { SecretValues } from "./SecretValues";
import styles from "./Servers.module.css";

export function Consent({
  page: { extension, server, replaces, package: plan, notes = [], hash },
}: {
  page: ConsentPage;
}) {
  const next = isCodingAgent(server) ? "It gets no task then." : "Then Rouse asks you about the tools.";
  const shown = plan ? withProgramWord(server) : server;
  return (
    <StepStart label={`Definition of ${extension}`}>
      <p className={styles.note}>
        {plan
          ? `Nothing is downloaded or started yet. Rouse installs and starts exactly this. ${next}`
          : `Nothing has started yet. Rouse starts exactly this. ${next}`}
      </p>
      {notes.length > 0 && (
        <div className={styles.notes} role="group" aria-label="Before you accept">
          {notes.map((note) => (
            <Notice key={note} tone="accent" icon={TriangleAlert}>
              <InlineCode text={showInvisible(note)} />
            </Notice>
          ))}
        </div>
      )}
      <DefinitionFacts server={shown} part="permissions" />
      {plan && (
        <>
          <div className={styles.part} role="group" aria-label="Package">
            <h3>Package</h3>
            <PlanFacts plan={plan} />
          </div>
          <h3>Start after the installation</h3>
        </>
      )}
      <DefinitionFacts server={shown} isPackage={plan !== undefined} part="start" />
      {shown !== server && (
        <p className={styles.note}>
          <code>{programWord}</code> stands for the path of the program, which is known after the installation.
        </p>
      )}
      {replaces && (
        <div className={styles.before} role="group" aria-label="Installed now">
          <h3>Installed now</h3>
          {isSameDefinition(replaces, server) ? (
            <p>The installed definition is the same.</p>
          ) : (
            <DefinitionFacts server={replaces} isPackage={plan?.replaces !== undefined} than={server} />
          )}
          <p className={styles.note}>
            {plan && "The installed files stay in use until the new files are complete. "}
            {!isCodingAgent(server) && "Accepted tools stay accepted while their definitions are the same."}
          </p>
        </div>
      )}
      <SecretValues server={extension} names={wantedSecrets(server)} />
      <p className={styles.note}>
        Hash of this page:{" "}
        <code className={styles.hash}>
          <VisibleText text={hash} />
        </code>
      </p>
    </StepStart>
  );
}
