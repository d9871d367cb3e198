/* Installs or changes an MCP server: definition and package, then the steps of the installation. */

import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { useCall } from "@/data/actions";
import { useStatus } from "@/data/queries";
import { toSentence } from "@/format/text";
import { type ConsentPage, type ExtensionDraft, fieldErrors } from "@/platform";

import { ActionError } from "./DialogParts";
import { withoutFlags } from "./engineMessage";
import { ServerFields } from "./ServerFields";
import { definitionFrom, emptyServerForm, type FormProblems, kindOf, type ServerForm } from "./serverForm";
import type { SourceKind } from "./serverSource";
import { documentProblem } from "./SourceFields";
import { type StepView, useInstallSteps } from "./useInstallSteps";

interface Props {
  /** Installed definition to change; none for an installation. */
  installed?: ServerForm;
  onClose: () => void;
}

export function AddServerDialog({ installed, onClose }: Props) {
  const [form, setForm] = useState(installed ?? emptyServerForm);
  const { kind, view, propose } = useInstallSteps(form.name, onClose);
  const first = useFormStep({
    form,
    setForm,
    isUpdate: installed !== undefined,
    onClose,
    onPage: (draft, page) => propose({ draft, page }),
  });
  const { title, body, footer } = view ?? first;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={kind}>{body}</div>
    </Modal>
  );
}

interface FormStepOptions {
  form: ServerForm;
  setForm: (form: ServerForm) => void;
  isUpdate: boolean;
  onClose: () => void;
  onPage: (draft: ExtensionDraft, page: ConsentPage) => void;
}

function useFormStep({ form, setForm, isUpdate, onClose, onPage }: FormStepOptions): StepView {
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
    const unread = documentProblem(form.source);
    const read = unread === undefined ? definitionFrom(form, status?.home) : { problems: { source: unread } };
    if ("problems" in read) {
      setProblems(read.problems);
      return;
    }
    const { definition, source } = read;
    const draft: ExtensionDraft = { name: form.name, server: definition, ...(source && { source }) };
    preview.mutate(draft, {
      onSuccess: (page) => onPage(draft, page),
      onError: (error) => setProblems(placedProblems(error, kindOf(form))),
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
const fieldPaths: readonly { path: string; field: keyof FormProblems; kinds?: readonly SourceKind[] }[] = [
  { path: "name", field: "name" },
  { path: "server.startTimeoutSeconds", field: "startSeconds" },
  { path: "server.callTimeoutSeconds", field: "callSeconds" },
  { path: "server.transport.environment", field: "pairs" },
  { path: "server.transport.headers", field: "pairs" },
  { path: "server.transport.folders", field: "folders" },
  { path: "server.transport.folder", field: "folder" },
  { path: "server.transport.hosts", field: "hosts" },
  { path: "server.transport.arguments", field: "words", kinds: ["npm", "pypi", "mcpb", "folder"] },
  { path: "server.transport.command", field: "words", kinds: ["folder"] },
  { path: "server.transport.command", field: "runtime", kinds: ["npm", "pypi"] },
  { path: "source.config", field: "config" },
  { path: "source.program", field: "program" },
  { path: "source", field: "source" },
  { path: "server", field: "source" },
];

function placedProblems(error: Error, kind: SourceKind): FormProblems {
  const problems: FormProblems = {};
  for (const { path, message } of fieldErrors(error)) {
    // The switch shows no error.
    if (path.startsWith("server.transport.isUnconfined")) continue;
    const found = fieldPaths.find((one) => path.startsWith(one.path) && (one.kinds?.includes(kind) ?? true));
    // The engine judges the settings of a bundle with its source.
    const field = kind === "mcpb" && message.includes("--config ") ? "config" : found?.field;
    if (field !== undefined) problems[field] ??= toSentence(withoutFlags(message));
  }
  return problems;
}
