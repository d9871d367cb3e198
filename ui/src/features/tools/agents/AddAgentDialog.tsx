/* Installs a coding agent: choice, fields, then the steps of the installation. If the program of a known agent is
   missing, its package is proposed. */

import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";
import { useCall } from "@/data/actions";
import { useCodingAgents, useServers } from "@/data/extensions";
import { useStatus } from "@/data/queries";
import type { ConsentPage, ExtensionDraft } from "@/platform";

import { ActionError, StepStart } from "@/features/tools/servers/DialogParts";
import { placedProblems } from "@/features/tools/servers/placedProblems";
import { definitionFrom, type FormProblems, kindOf } from "@/features/tools/servers/serverForm";
import { type StepView, useInstallSteps } from "@/features/tools/servers/useInstallSteps";
import { AgentChoice } from "./AgentChoice";
import { AgentFields } from "./AgentFields";
import { type AgentForm, newAgentForm, requestedForm, withPackageInstead } from "./agentForm";
import styles from "./Agents.module.css";

export function AddAgentDialog({ onClose }: { onClose: () => void }) {
  const [form, setForm] = useState<AgentForm>();
  const taken = [...(useServers().data ?? []), ...(useCodingAgents().data ?? [])].map(({ name }) => name);
  const { kind, view, propose } = useInstallSteps(form?.server.name ?? "", onClose, form?.preset?.signIn);
  const fields = useFieldsStep({ form, setForm, onPage: (draft, page) => propose({ draft, page }) });
  const choice: StepView = {
    title: "Add a coding agent",
    body: <AgentChoice taken={taken} onChoose={(preset) => setForm(newAgentForm(preset, taken))} />,
    footer: (
      <>
        <Button look="ghost" onPress={() => setForm(newAgentForm(null, taken))} className={styles.other}>
          Another agent…
        </Button>
        <Button onPress={onClose}>Cancel</Button>
      </>
    ),
  };
  const { title, body, footer } = view ?? fields ?? choice;
  return (
    <Modal isOpen onClose={onClose} title={title} wide footer={footer}>
      <div key={view ? kind : form ? "fields" : "choice"}>{body}</div>
    </Modal>
  );
}

interface FieldsOptions {
  form: AgentForm | undefined;
  setForm: (form: AgentForm | undefined) => void;
  onPage: (draft: ExtensionDraft, page: ConsentPage) => void;
}

/** Undefined before an agent is chosen. */
function useFieldsStep({ form, setForm, onPage }: FieldsOptions): StepView | undefined {
  const { data: status } = useStatus();
  const preview = useCall("extensions.preview");
  const [problems, setProblems] = useState<FormProblems>({});
  const formId = useId();
  const change = (next: AgentForm | undefined) => {
    setForm(next);
    setProblems({});
    preview.reset();
  };
  const request = (asked: AgentForm) => {
    const whole = requestedForm(asked);
    const read = definitionFrom(whole, status?.home);
    if ("problems" in read) {
      setProblems(read.problems);
      return;
    }
    const { definition, source } = read;
    const draft: ExtensionDraft = { name: whole.name, server: definition, ...(source && { source }) };
    preview.mutate(draft, {
      onSuccess: (page) => onPage(draft, page),
      onError: (error) => {
        const other = withPackageInstead(asked, error);
        if (other) {
          change(other);
          request(other);
        } else setProblems(placedProblems(error, kindOf(whole)));
      },
    });
  };
  if (!form) return undefined;
  // The first field of an own command takes the focus itself.
  const fields = <AgentFields form={form} onChange={change} problems={problems} />;
  const isPlaced = Object.keys(problems).length > 0;
  return {
    title: `Add ${form.preset?.label ?? "another agent"}`,
    body: (
      <form
        id={formId}
        aria-label="Coding agent"
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          request(form);
        }}
      >
        {form.preset === null ? fields : <StepStart>{fields}</StepStart>}
        {preview.error && !isPlaced && <ActionError error={preview.error} />}
      </form>
    ),
    footer: (
      <>
        <Button onPress={() => change(undefined)}>Back</Button>
        <Button look="primary" type="submit" form={formId} isPending={preview.isPending}>
          Continue
        </Button>
      </>
    ),
  };
}
