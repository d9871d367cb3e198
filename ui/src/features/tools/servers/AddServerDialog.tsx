/* Installs or changes an MCP server: definition, consent, start, tools. Nothing starts before the consent, which names
   the hash of the shown page. */

import { type ReactNode, useId, useState } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { useClickGuard } from "@/components/useClickGuard";
import { useCall } from "@/data/actions";
import { useExtensionCall } from "@/data/extensions";
import { useStatus } from "@/data/queries";
import { toSentence } from "@/format/text";
import { type ConsentPage, type ExtensionDraft, fieldErrors, type ServerToolsPage } from "@/platform";

import { Consent } from "./Consent";
import { ActionError, Starting } from "./DialogParts";
import { ServerFields } from "./ServerFields";
import { definitionFrom, emptyServerForm, type FormProblems, type ServerForm } from "./serverForm";
import { useToolsStep } from "./useToolsStep";

interface Props {
  /** Installed definition to change; none for an installation. */
  installed?: ServerForm;
  onClose: () => void;
}

type Step =
  | { kind: "form" }
  | { kind: "consent"; page: ConsentPage }
  | { kind: "starting" }
  | { kind: "tools"; found: ServerToolsPage };

interface StepView {
  title: string;
  body: ReactNode;
  footer: ReactNode;
}

export function AddServerDialog({ installed, onClose }: Props) {
  const [form, setForm] = useState(installed ?? emptyServerForm);
  const [step, setStep] = useState<Step>({ kind: "form" });
  const back = () => setStep({ kind: "form" });
  const views = {
    form: useFormStep({ form, setForm, isUpdate: installed !== undefined, onClose, setStep }),
    consent: useConsentStep({ page: step.kind === "consent" ? step.page : undefined, back, setStep }),
    starting: {
      title: `Starting ${form.name}`,
      body: <Starting name={form.name}>You can close this dialog. The installation continues.</Starting>,
      footer: <Button onPress={onClose}>Close</Button>,
    },
    tools: useToolsStep({
      name: form.name,
      found: step.kind === "tools" ? step.found : undefined,
      onClose,
      onChange: back,
    }),
  } satisfies Record<Step["kind"], StepView>;
  const { title, body, footer } = views[step.kind];
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={step.kind}>{body}</div>
    </Modal>
  );
}

interface FormStepOptions {
  form: ServerForm;
  setForm: (form: ServerForm) => void;
  isUpdate: boolean;
  onClose: () => void;
  setStep: (step: Step) => void;
}

function useFormStep({ form, setForm, isUpdate, onClose, setStep }: FormStepOptions): StepView {
  const { data: status } = useStatus();
  const preview = useCall("extensions.preview");
  const [problems, setProblems] = useState<FormProblems>({});
  const formId = useId();
  const change = (next: ServerForm) => {
    setForm(next);
    setProblems({});
    preview.reset();
  };
  const submit = () => {
    const read = definitionFrom(form, status?.home);
    if ("problems" in read) {
      setProblems(read.problems);
      return;
    }
    const draft: ExtensionDraft = { name: form.name, server: read.definition };
    preview.mutate(draft, {
      onSuccess: (page) => setStep({ kind: "consent", page }),
      onError: (error) => setProblems(placedProblems(error)),
    });
  };
  const isPlaced = Object.keys(problems).length > 0;
  return {
    title: isUpdate ? `Change ${form.name}` : "Add MCP server",
    body: (
      <form
        id={formId}
        aria-label="MCP server"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <ServerFields form={form} onChange={change} problems={problems} isUpdate={isUpdate} />
        {preview.error && !isPlaced && <ActionError error={preview.error} />}
      </form>
    ),
    footer: (
      <>
        <Button onPress={onClose}>Cancel</Button>
        <Button look="primary" type="submit" form={formId} isPending={preview.isPending}>
          Continue
        </Button>
      </>
    ),
  };
}

/** Fields of the form by error path, first match wins. */
const fieldPaths: readonly { path: string; field: keyof ServerForm }[] = [
  { path: "name", field: "name" },
  { path: "server.startTimeoutSeconds", field: "startSeconds" },
  { path: "server.callTimeoutSeconds", field: "callSeconds" },
  { path: "server.transport.environment", field: "pairs" },
  { path: "server.transport.headers", field: "pairs" },
  { path: "server.transport.folders", field: "folders" },
  { path: "server.transport.folder", field: "folder" },
  { path: "server.transport.hosts", field: "hosts" },
  { path: "server.transport.isUnconfined", field: "isUnconfined" },
  { path: "server", field: "source" },
];

function placedProblems(error: Error): FormProblems {
  const problems: FormProblems = {};
  for (const { path, message } of fieldErrors(error)) {
    const field = fieldPaths.find((one) => path.startsWith(one.path))?.field;
    // The switch shows no error.
    if (field !== undefined && field !== "isUnconfined") problems[field] ??= toSentence(message);
  }
  return problems;
}

interface ConsentStepOptions {
  page: ConsentPage | undefined;
  back: () => void;
  setStep: (step: Step) => void;
}

function useConsentStep({ page, back, setStep }: ConsentStepOptions): StepView {
  const install = useExtensionCall("extensions.install");
  const isArmed = useClickGuard(page?.hash ?? "");
  if (!page) return { title: "", body: null, footer: null };
  const { extension: name, server, hash, replaces } = page;
  const accept = () => {
    setStep({ kind: "starting" });
    install.mutate(
      { name, server, accept: hash },
      {
        onSuccess: (found) => setStep({ kind: "tools", found }),
        onError: () => setStep({ kind: "consent", page }),
      },
    );
  };
  return {
    title: replaces ? `Update ${name}?` : `Install ${name}?`,
    body: (
      <>
        <Consent page={page} />
        {install.error && <ActionError error={install.error} />}
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
