/* Set-up of a channel. Secrets leave the form only for the secret store. */

import { useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { type Choice, Select, TextArea, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { Modal } from "@/components/Modal";
import { Notice } from "@/components/Notice";
import styles from "@/features/settings/Settings.module.css";
import type { ChannelDetails, ChannelKind, ChannelsListResult } from "@/platform";

import { type DraftErrors, draftErrors, draftTargets } from "./channelDraft";
import { type ChannelField, channelKinds, kindSetups } from "./channelKinds";
import { listsWith } from "./defaultLists";
import { useAddChannel } from "./useAddChannel";

const kindChoices: readonly Choice[] = channelKinds.map((kind) => ({
  id: kind,
  label: kindSetups[kind].label,
  about: kindSetups[kind].about,
}));

const detailChoices: readonly (Choice & { id: ChannelDetails })[] = [
  { id: "full", label: "Whole text" },
  { id: "headline", label: "First sentence only" },
];

const securityChoices: readonly Choice[] = [
  { id: "tls", label: "TLS", about: "Usually port 465" },
  { id: "starttls", label: "STARTTLS", about: "Usually port 587" },
  { id: "none", label: "None", about: "For a server on this computer" },
];

const noErrors: DraftErrors = { fields: {} };

interface Props {
  list: ChannelsListResult;
  onClose: () => void;
  /** Takes the name and the kind of the new channel. */
  onAdded: (name: string, kind: ChannelKind) => void;
}

export function AddChannelDialog({ list, onClose, onAdded }: Props) {
  const form = useChannelForm(list, onAdded);
  const { kind, errors } = form;
  return (
    <Modal isOpen onClose={onClose} title="Add a channel">
      <form
        className={styles.form}
        aria-label="Channel"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void form.save();
        }}
      >
        <Select
          label="Kind"
          placeholder="Choose a kind"
          choices={kindChoices}
          value={kind ?? null}
          onChange={(id) => form.chooseKind(id as ChannelKind)}
          help={kind && kindSetups[kind].about}
          autoFocus
        />
        {kind && <KindFields kind={kind} form={form} />}
        {errors.other !== undefined && (
          <p role="alert" className={styles.error}>
            Not added. <InlineCode text={errors.other} />
          </p>
        )}
        <div className={styles.answers}>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isPending={form.isBusy} isDisabled={kind === undefined}>
            Add
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** State of the form. A change clears the error of its field. */
function useChannelForm(list: ChannelsListResult, onAdded: Props["onAdded"]) {
  const taken = list.channels.map(({ name }) => name);
  const [kind, setKind] = useState<ChannelKind>();
  const [typedName, setTypedName] = useState<string>();
  const [details, setDetails] = useState<ChannelDetails>("full");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [isDefault, setDefault] = useState(true);
  const [errors, setErrors] = useState(noErrors);
  const [isBusy, setBusy] = useState(false);
  const add = useAddChannel();
  const name = typedName ?? (kind === undefined ? "" : freeName(kind, taken));
  /** Settings with the channel among the default channels. */
  const defaults = kind === undefined ? {} : listsWith(list, draftTargets(kind, name, values));

  const clearError = (key: string) =>
    setErrors({ fields: Object.fromEntries(Object.entries(errors.fields).filter(([field]) => field !== key)) });
  const chooseKind = (next: ChannelKind) => {
    setKind(next);
    setValues({});
    setErrors(noErrors);
  };
  const change = (key: string, value: string) => {
    setValues({ ...values, [key]: value });
    clearError(key);
  };
  const rename = (next: string) => {
    setTypedName(next);
    clearError("name");
  };
  const save = async () => {
    if (kind === undefined || isBusy) return;
    const draft = { kind, name, details, values };
    const fields = draftErrors(draft, taken);
    setErrors({ fields });
    if (Object.keys(fields).length > 0) return;
    setBusy(true);
    const found = await add(draft, isDefault ? defaults : {});
    setBusy(false);
    if (found === undefined) onAdded(name, kind);
    else setErrors(found);
  };
  const canBeDefault = Object.keys(defaults).length > 0;
  return {
    ...{ kind, name, details, values, isDefault, canBeDefault, errors, isBusy },
    ...{ chooseKind, rename, setDetails, change, setDefault, save },
  };
}

/** The kind, with a number if the name is taken. */
function freeName(kind: ChannelKind, taken: readonly string[]): string {
  const names = [kind, ...taken.map((_, at) => `${kind}-${at + 2}`)];
  return names.find((name) => !taken.includes(name)) ?? kind;
}

interface KindFieldsProps {
  kind: ChannelKind;
  form: ReturnType<typeof useChannelForm>;
}

function KindFields({ kind, form }: KindFieldsProps) {
  const { name, details, values, errors, isDefault, canBeDefault } = form;
  const { note, fields } = kindSetups[kind];
  return (
    <>
      {note !== undefined && (
        <Notice>
          <InlineCode text={note.replace("NAME", name || "NAME")} />
        </Notice>
      )}
      <TextField
        mono
        label="Name"
        value={name}
        onChange={form.rename}
        error={errors.fields.name}
        help="Your own word for the channel: lowercase letters, digits and -."
        autoComplete="off"
        spellCheck="false"
      />
      {fields.map((field) => (
        <ChannelFieldInput
          key={`${kind}.${field.key}`}
          field={field}
          value={values[field.key] ?? ""}
          onChange={(value) => form.change(field.key, value)}
          error={errors.fields[field.key]}
        />
      ))}
      <Select
        label="Message text"
        choices={detailChoices}
        value={details}
        onChange={(id) => form.setDetails(id as ChannelDetails)}
        error={errors.fields.details}
      />
      {canBeDefault && (
        <Checkbox isSelected={isDefault} onChange={form.setDefault}>
          Send reports, failures and approval requests there too
        </Checkbox>
      )}
    </>
  );
}

interface FieldProps {
  field: ChannelField;
  value: string;
  onChange: (value: string) => void;
  error?: string;
}

function ChannelFieldInput({ field, value, onChange, error }: FieldProps) {
  const { label, help, placeholder, secret, input } = field;
  if (input === "security")
    return <Select label={label} choices={securityChoices} value={value || "tls"} onChange={onChange} error={error} />;
  const props = { label, help, placeholder, value, onChange, error, autoComplete: "off", spellCheck: "false" } as const;
  if (input === "list") return <TextArea {...props} mono rows={2} />;
  return <TextField {...props} {...(secret === undefined ? { mono: true } : { type: "password" as const })} />;
}
