/* Outcome of a run: error, reason or summary. Offers a fix only while applicable. */

import { CircleX, Info } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { InlineCode } from "@/components/InlineCode";
import { usePlatform } from "@/data/platform";
import { useStatus } from "@/data/queries";
import { isMissingModel } from "@/domain/incident";
import { ModelText } from "@/domain/ModelText";
import { withoutRepeatedEnd } from "@/format/text";
import type { RunView } from "@/platform";

import styles from "./RunPage.module.css";

export function RunOutcome({ run }: { run: RunView }) {
  const platform = usePlatform();
  const hasNoModel = useStatus().data?.model === null;
  if (run.error === null && run.reason === null && run.summary === null) return null;
  return (
    <div className={styles.outcome}>
      {run.error !== null && (
        <Notice
          icon={CircleX}
          tone="bad"
          className={styles.wrong}
          action={
            hasNoModel &&
            isMissingModel(run.error) && (
              <ButtonLink to="/settings" hash="model" small>
                Settings
              </ButtonLink>
            )
          }
        >
          <InlineCode text={withoutRepeatedEnd(run.error)} />
        </Notice>
      )}
      {run.reason !== null && (
        <Notice icon={Info}>
          <InlineCode text={run.reason} />
        </Notice>
      )}
      {run.summary !== null && <ModelText text={run.summary} onOpen={platform.openExternal} />}
    </div>
  );
}
