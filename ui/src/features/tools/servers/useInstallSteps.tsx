/* Steps after a draft: consent, installation, tools. Nothing is downloaded or started before the consent, which names
   the hash of the shown page. */

import { type ReactNode, useState } from "react";

import { Button } from "@/components/Button";
import { useClickGuard } from "@/components/useClickGuard";
import { useExtensionCall } from "@/data/extensions";
import type { ConsentPage, ExtensionDraft, ServerToolsPage } from "@/platform";

import { Consent } from "./Consent";
import { isCodingAgent } from "./DefinitionFacts";
import { ActionError, Starting } from "./DialogParts";
import { CancelInstall, InstallProgress, RunningInstall } from "./InstallProgress";
import { useToolsStep } from "./useToolsStep";

export interface StepView {
  title: string;
  body: ReactNode;
  footer: ReactNode;
}

/** A draft with its page. */
interface Proposal {
  draft: ExtensionDraft;
  page: ConsentPage;
}

type Step =
  | { kind: "draft" }
  | { kind: "consent"; proposal: Proposal }
  | { kind: "installing"; isPackage: boolean }
  | { kind: "tools"; found: ServerToolsPage };

interface Steps {
  kind: Step["kind"];
  /** View of the step; undefined while the draft is written. */
  view: StepView | undefined;
  propose: (proposal: Proposal) => void;
}

/** `signIn` tells how a person signs in at the coding agent. */
export function useInstallSteps(name: string, onClose: () => void, signIn?: string): Steps {
  const [step, setStep] = useState<Step>({ kind: "draft" });
  const back = () => setStep({ kind: "draft" });
  const isPackage = step.kind === "installing" && step.isPackage;
  const views = {
    draft: undefined,
    consent: useConsentStep({ proposal: step.kind === "consent" ? step.proposal : undefined, back, setStep }),
    installing: {
      title: isPackage ? `Installing ${name}` : `Starting ${name}`,
      body: isPackage ? (
        <InstallProgress name={name} />
      ) : (
        <Starting name={name}>You can close this dialog. The installation continues.</Starting>
      ),
      footer: (
        <>
          {isPackage && <CancelInstall name={name} />}
          <Button onPress={onClose}>Close</Button>
        </>
      ),
    },
    tools: useToolsStep({
      name,
      signIn,
      isAgent: step.kind === "tools" && isCodingAgent(step.found.page.server),
      found: step.kind === "tools" ? step.found : undefined,
      onClose,
      onChange: back,
    }),
  } satisfies Record<Step["kind"], StepView | undefined>;
  return {
    kind: step.kind,
    view: views[step.kind],
    propose: (proposal) => setStep({ kind: "consent", proposal }),
  };
}

interface ConsentStepOptions {
  proposal: Proposal | undefined;
  back: () => void;
  setStep: (step: Step) => void;
}

function useConsentStep({ proposal, back, setStep }: ConsentStepOptions): StepView {
  const install = useExtensionCall("extensions.install");
  const isArmed = useClickGuard(proposal?.page.hash ?? "");
  if (!proposal) return { title: "", body: null, footer: null };
  const { draft, page } = proposal;
  const { extension: name, hash, replaces } = page;
  const accept = () => {
    setStep({ kind: "installing", isPackage: draft.source !== undefined });
    // The engine fills in the server of a package; a draft of it gives the same page.
    const server = draft.source ? draft.server : page.server;
    install.mutate(
      { name, server, ...(draft.source && { source: draft.source }), accept: hash },
      {
        onSuccess: (found) => setStep({ kind: "tools", found }),
        onError: () => setStep({ kind: "consent", proposal }),
      },
    );
  };
  return {
    title: replaces ? `Update ${name}?` : `Install ${name}?`,
    body: (
      <>
        <Consent page={page} />
        {install.error && <ActionError error={install.error} />}
        {install.error && draft.source && <RunningInstall name={name} />}
      </>
    ),
    footer: (
      <>
        <Button
          onPress={() => {
            install.reset();
            back();
          }}
        >
          Back
        </Button>
        <Button look="primary" isDisabled={!isArmed} onPress={accept}>
          {replaces ? "Update" : "Install"}
        </Button>
      </>
    ),
  };
}
