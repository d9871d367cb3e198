/* Installs or changes an MCP server, installs a tool folder, or changes a coding agent: definition and package, then the
   steps of the installation. A link fills in the form and starts nothing. */

import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { type Option, Segmented } from "@/components/Choice";
import { Modal } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import { useCall } from "@/data/actions";
import { useStatus } from "@/data/queries";
import { useToolFolder } from "@/features/tools/builds/useToolFolder";
import type { ConsentPage, ExtensionDraft } from "@/platform";

import { ActionError } from "./DialogParts";
import type { InstallLink } from "./installLink";
import { placedProblems } from "./placedProblems";
import { RegistrySearch, useServerSearch } from "./RegistrySearch";
import { ServerFields } from "./ServerFields";
import { definitionFrom, emptyServerForm, type FormProblems, kindOf, type ServerForm } from "./serverForm";
import styles from "./Servers.module.css";
import type { SourceKind } from "./serverSource";
import { documentProblem, type FilledIn, sourceKinds, sourceKindsOf } from "./SourceFields";
import { type StepView, useInstallSteps } from "./useInstallSteps";

interface Props {
  /** Installed definition to change; none for an installation. */
  installed?: ServerForm;
  /** Link that opened the form. */
  link?: InstallLink;
  /** Starts with the folder of a tool. */
  isToolFolder?: boolean;
  onClose: () => void;
}

export function AddServerDialog({ installed, link, isToolFolder = false, onClose }: Props) {
  const [form, setForm] = useState(installed ?? link?.form ?? emptyServerForm);
  // A tool folder names itself.
  const [name, setName] = useState(form.name);
  const { kind, view, propose } = useInstallSteps(name, onClose);
  const [isInstalled, setInstalled] = useState(installed !== undefined);
  if (kind === "tools" && !isInstalled) setInstalled(true);
  const first = useFormStep({
    form,
    setForm,
    isUpdate: installed !== undefined,
    link,
    isToolFolder,
    isInstalled,
    onClose,
    onPage: (draft, page) => {
      setName(draft.name);
      propose({ draft, page });
    },
  });
  const { title, body, footer } = view ?? first;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={kind}>{body}</div>
    </Modal>
  );
}

/** Part of the dialog: the form of a server, the search of the registry, or the folder of a tool. */
type FormOrigin = "form" | "registry" | "tool";

const allSources: readonly Option<SourceKind | Exclude<FormOrigin, "form">>[] = [
  ...sourceKinds,
  { id: "tool", label: "Tool folder" },
  { id: "registry", label: "Registry" },
];

interface DraftOptions {
  form: ServerForm;
  setForm: (form: ServerForm) => void;
  isUpdate: boolean;
  link: InstallLink | undefined;
  isToolFolder: boolean;
  onPage: (draft: ExtensionDraft, page: ConsentPage) => void;
}

/** State of the form: source, problems, and the page of the next step. */
function useDraft({ form, setForm, isUpdate, link, isToolFolder, onPage }: DraftOptions) {
  const { data: status } = useStatus();
  const preview = useCall("extensions.preview");
  const search = useServerSearch(link?.query ?? "");
  const first = isToolFolder ? "tool" : link?.query === undefined ? "form" : "registry";
  const [origin, setOrigin] = useState<FormOrigin>(first);
  const [filledIn, setFilledIn] = useState<FilledIn>();
  const [problems, setProblems] = useState<FormProblems>({});
  const change = (next: ServerForm) => {
    setForm(isUpdate ? { ...next, name: form.name } : next);
    setProblems({});
    preview.reset();
  };
  const fill = (next: FilledIn | undefined) => {
    setFilledIn(next);
    const server = next?.servers[next.chosen];
    if (!server) return;
    setOrigin("form");
    const isNamed = next.origin === "registry" && link !== undefined && link.form.name !== "";
    change(isNamed ? { ...server.form, name: link.form.name } : server.form);
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
  return { preview, search, origin, setOrigin, filledIn, problems, change, fill, submit };
}

interface FormStepOptions extends DraftOptions {
  /** The server is installed, now or before. */
  isInstalled: boolean;
  onClose: () => void;
}

function useFormStep({ isInstalled, onClose, ...options }: FormStepOptions): StepView {
  const { form, isUpdate, link } = options;
  const { preview, search, origin, setOrigin, filledIn, problems, change, fill, submit } = useDraft(options);
  const tool = useToolFolder(options.onPage);
  const formId = useId();
  const isPlaced = Object.keys(problems).length > 0;
  return {
    title: isUpdate ? `Change ${form.name}` : origin === "tool" ? "Add a tool folder" : "Add MCP server",
    body: (
      <div className={styles.form}>
        {link && !isInstalled && <Notice tone="accent">A link opened this form. Nothing is installed yet.</Notice>}
        <Segmented
          label="Kind of source"
          options={isUpdate ? sourceKindsOf(form.isAgent) : allSources}
          value={origin === "form" ? kindOf(form) : origin}
          onChange={(next) => {
            const isForm = next !== "registry" && next !== "tool";
            setOrigin(isForm ? "form" : next);
            if (isForm) change({ ...form, kind: next });
          }}
          className={styles.kinds}
        />
        {origin === "registry" && (
          <RegistrySearch search={search} onChoose={(servers) => fill({ servers, chosen: 0, origin: "registry" })} />
        )}
        {origin === "tool" && tool.body}
        {origin === "form" && (
          <form
            id={formId}
            aria-label={form.isAgent ? "Coding agent" : "MCP server"}
            onSubmit={(event) => {
              event.preventDefault();
              submit();
            }}
          >
            <ServerFields
              form={form}
              onChange={change}
              problems={problems}
              isUpdate={isUpdate}
              filledIn={filledIn}
              onFill={fill}
            />
            {preview.error && !isPlaced && <ActionError error={preview.error} />}
          </form>
        )}
      </div>
    ),
    footer: (
      <>
        <Button onPress={onClose}>Cancel</Button>
        {origin === "tool" && tool.submit}
        {origin === "form" && (
          <Button look="primary" type="submit" form={formId} isPending={preview.isPending}>
            Continue
          </Button>
        )}
      </>
    ),
  };
}
