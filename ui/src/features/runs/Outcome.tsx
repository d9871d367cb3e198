/* What came of the run, in full and first: the answer, or what went wrong. The way to mend it is offered only while it is still
   to be mended: an old run is read long after somebody has set a model up. */

import { CircleX, Info } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Notice } from "@/components/Notice";
import { Worded } from "@/components/Worded";
import { usePlatform } from "@/data/platform";
import { useStatus } from "@/data/queries";
import { lacksModel } from "@/domain/incident";
import { ModelText } from "@/domain/ModelText";
import { withoutEcho } from "@/format/text";
import type { RunView } from "@/platform";

import styles from "./RunPage.module.css";

export function Outcome({ run }: { run: RunView }) {
  const platform = usePlatform();
  const hasNoModel = useStatus().data?.model === null;
  if (run.error === null && run.reason === null && run.summary === null) return null;
  return (
    <div className={styles.outcome}>
      {run.error !== null && (
        <Notice icon={CircleX} tone="bad" className={styles.wrong} action={hasNoModel && lacksModel(run.error) && <ButtonLink to="/settings" hash="model" small>Settings</ButtonLink>}>
          <Worded text={withoutEcho(run.error)} />
        </Notice>
      )}
      {run.reason !== null && <Notice icon={Info}><Worded text={run.reason} /></Notice>}
      {run.summary !== null && <ModelText text={run.summary} onOpen={platform.openExternal} />}
    </div>
  );
}
