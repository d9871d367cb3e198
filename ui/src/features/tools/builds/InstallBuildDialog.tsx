/* Installs a version of a built tool. Its files are checked again, because the person has read the files of one
   version; another version is shown before its consent page. */

import { TriangleAlert } from "lucide-react";
import { useEffect, useEffectEvent } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { useCall } from "@/data/actions";
import { useCheckFolder } from "@/data/toolBuilds";
import { ActionError, StepStart } from "@/features/tools/servers/DialogParts";
import { useInstallSteps } from "@/features/tools/servers/useInstallSteps";
import type { ToolBuild } from "@/platform";

import { Checking, CheckResult, isPassed } from "./CheckResult";
import { toolDraft } from "./toolDraft";

interface Props {
  name: string;
  /** Version that the person has read. */
  hash: string;
  /** Folder of the version. */
  folder: string;
  onClose: () => void;
}

export function InstallBuildDialog({ name, hash, folder, onClose }: Props) {
  const { kind, view, propose } = useInstallSteps(name, onClose);
  const check = useCheckFolder();
  const preview = useCall("extensions.preview");
  const isReadVersion = (build: ToolBuild) => build.hash === hash && isPassed(build);
  const readPage = () => {
    const draft = toolDraft(name, folder);
    preview.mutate(draft, { onSuccess: (page) => propose({ draft, page }) });
  };
  const start = () => {
    preview.reset();
    check.mutate({ folder }, { onSuccess: (build) => isReadVersion(build) && readPage() });
  };
  const begin = useEffectEvent(start);
  useEffect(() => begin(), []);
  const build = check.data;
  const failure = check.error ?? preview.error;
  const isBusy = check.isIdle || check.isPending || preview.isPending;
  const first = {
    title: `Install ${name}`,
    body: (
      <StepStart>
        {build && build.hash !== hash && (
          <Notice tone="accent" icon={TriangleAlert}>
            The files have changed since you read this version. Close this dialog and read the newest version.
          </Notice>
        )}
        {isBusy ? <Checking /> : build && <CheckResult build={build} />}
        {failure && <ActionError error={failure} />}
      </StepStart>
    ),
    footer: (
      <>
        <Button onPress={onClose}>Close</Button>
        {failure ? (
          <Button look="primary" onPress={start}>
            Try again
          </Button>
        ) : (
          build &&
          isReadVersion(build) && (
            <Button look="primary" isPending={isBusy} onPress={readPage}>
              Continue
            </Button>
          )
        )}
      </>
    ),
  };
  const { title, body, footer } = view ?? first;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={kind}>{body}</div>
    </Modal>
  );
}
