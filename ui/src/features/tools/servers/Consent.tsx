/* Page of a definition, read before the installation. */

import { VisibleText } from "@/components/VisibleText";
import type { ConsentPage } from "@/platform";

import { DefinitionFacts, isSameDefinition, wantedSecrets } from "./DefinitionFacts";
import { StepStart } from "./DialogParts";
import { SecretValues } from "./SecretValues";
import styles from "./Servers.module.css";

export function Consent({ page: { extension, server, replaces, hash } }: { page: ConsentPage }) {
  return (
    <StepStart label={`Definition of ${extension}`}>
      <p className={styles.note}>
        Nothing has started yet. Rouse starts exactly this, and asks you about its tools afterwards.
      </p>
      <DefinitionFacts server={server} />
      {replaces && (
        <div className={styles.before} role="group" aria-label="Installed now">
          <h3>Installed now</h3>
          {isSameDefinition(replaces, server) ? (
            <p>The installed definition is the same.</p>
          ) : (
            <DefinitionFacts server={replaces} than={server} />
          )}
          <p className={styles.note}>Accepted tools stay accepted while their definitions are the same.</p>
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
