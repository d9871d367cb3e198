/* Progress of an installation: what the engine does now, and the cancellation. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { VisibleText } from "@/components/VisibleText";
import { useCall } from "@/data/actions";
import { useInstallStep } from "@/data/extensions";
import { MovingArc } from "@/domain/ringIcons";
import { showInvisible } from "@/format/visible";

import { ActionError, StepStart } from "./DialogParts";
import styles from "./Servers.module.css";

/** The installation of a package, then the first start of its server. */
export function InstallProgress({ name }: { name: string }) {
  const { data: step } = useInstallStep(name);
  const [isInstalled, setInstalled] = useState(false);
  const [hasBegun, setBegun] = useState(false);
  // The step ends with the installation; the server starts then.
  if (step != null && !hasBegun) setBegun(true);
  if (step === null && hasBegun && !isInstalled) setInstalled(true);
  return (
    <StepStart>
      <p role="status" className={styles.progress}>
        <span aria-hidden>
          <MovingArc size={16} />
        </span>
        {isInstalled ? `Starting ${name} …` : `Installing ${name} …`}
      </p>
      {step != null && <StepText step={step} />}
      <p className={styles.note}>
        The installation takes at most 5 min. You can close this dialog. The installation continues.
      </p>
    </StepStart>
  );
}

/** Output of the installer, which is untrusted text. */
function StepText({ step }: { step: string }) {
  return (
    <p className={styles.step}>
      <VisibleText text={showInvisible(step)} />
    </p>
  );
}

/** Disabled while nothing is installed. */
export function CancelInstall({ name }: { name: string }) {
  const { data: step } = useInstallStep(name);
  const cancel = useCall("extensions.cancelInstall");
  return (
    <Button
      isDisabled={step == null}
      isPending={cancel.isPending || cancel.data?.changed === true}
      onPress={() => cancel.mutate({ name })}
    >
      Cancel installation
    </Button>
  );
}

/** An installation of the same name that was begun elsewhere, such as in a closed dialog. */
export function RunningInstall({ name }: { name: string }) {
  const { data: step } = useInstallStep(name);
  const cancel = useCall("extensions.cancelInstall");
  if (step == null) return null;
  return (
    <div className={styles.running} role="group" aria-label="Running installation">
      <StepText step={step} />
      <Button small isPending={cancel.isPending} onPress={() => cancel.mutate({ name })}>
        Cancel the running installation
      </Button>
      {cancel.error && <ActionError error={cancel.error} />}
    </div>
  );
}
