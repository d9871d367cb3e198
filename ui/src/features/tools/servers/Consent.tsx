/* Page of a definition and its package, read before the installation. */

import { VisibleText } from "@/components/VisibleText";
import type { ConsentPage } from "@/platform";

import { DefinitionFacts, isSameDefinition, wantedSecrets } from "./DefinitionFacts";
import { StepStart } from "./DialogParts";
import { PlanFacts, programWord, withProgramWord } from "./PackageFacts";
import { SecretValues } from "./SecretValues";
import styles from "./Servers.module.css";

export function Consent({ page: { extension, server, replaces, package: plan, hash } }: { page: ConsentPage }) {
  const shown = plan ? withProgramWord(server) : server;
  return (
    <StepStart label={`Definition of ${extension}`}>
      <p className={styles.note}>
        {plan
          ? "Nothing is downloaded or started yet. Rouse installs and starts exactly this, then asks you about the tools."
          : "Nothing has started yet. Rouse starts exactly this, then asks you about the tools."}
      </p>
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
            {plan && "The installed files stay in use until the new files are complete. "}Accepted tools stay accepted
            while their definitions are the same.
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
