/* Form of an input request: one control per field, or the page of the server. The page opens only on a press. Errors
   stand at their field. */

import { ExternalLink } from "lucide-react";
import { type SyntheticEvent, useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox, ChipSet } from "@/components/Choice";
import { GroupFoot, NumberField, Select, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { VisibleText } from "@/components/VisibleText";
import { showUnambiguous } from "@/format/visible";
import { type DecisionDraft, fieldErrors, type InputField, type InputPrompt } from "@/platform";

import { answersOf, fieldsOf, type InputDraft, initialDraft } from "./inputDraft";
import styles from "./InputForm.module.css";

interface Props {
  prompt: InputPrompt;
  isDisabled: boolean;
  /** Sends the decision; rejects on failure. */
  onDecide: (decision: DecisionDraft) => Promise<unknown>;
  onOpen: (url: string) => Promise<void>;
}

/** Path of the values in the errors of the engine. */
const answersPath = "decision.answers.";

export function InputForm({ prompt, isDisabled, onDecide, onOpen }: Props) {
  const [draft, setDraft] = useState(() => initialDraft(prompt));
  const [busy, setBusy] = useState<DecisionDraft["kind"]>();
  const [failure, setFailure] = useState<Error>();
  const errors = fieldErrors(failure);
  const give = async (decision: DecisionDraft) => {
    if (isDisabled || busy !== undefined) return;
    setBusy(decision.kind);
    setFailure(undefined);
    try {
      await onDecide(decision);
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(undefined);
    }
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void give({ kind: "submit", answers: answersOf(prompt, draft) });
  };
  const isPage = prompt.body.kind === "url";
  return (
    <form className={styles.form} aria-label={`Answer for ${prompt.server}`} onSubmit={submit}>
      {failure !== undefined && errors.length === 0 && (
        <p role="alert" className={styles.problem}>
          Your answer was not saved. <InlineCode text={failure.message} />
        </p>
      )}
      {prompt.body.kind === "url" && <PageLink {...prompt.body} onOpen={onOpen} />}
      {fieldsOf(prompt).map((field) => (
        <FieldControl
          key={field.name}
          field={field}
          value={draft[field.name]}
          error={errors.find(({ path }) => path === answersPath + field.name)?.message}
          onChange={(value) => setDraft((now) => ({ ...now, [field.name]: value }))}
        />
      ))}
      <div className={styles.buttons}>
        <Button look="primary" type="submit" isDisabled={isDisabled} isPending={busy === "submit"}>
          {isPage ? "I have finished there" : "Send answer"}
        </Button>
        <span className={styles.gap} />
        <Button isDisabled={isDisabled} isPending={busy === "cancel"} onPress={() => void give({ kind: "cancel" })}>
          Cancel
        </Button>
        <Button
          look="danger"
          isDisabled={isDisabled}
          isPending={busy === "deny"}
          onPress={() => void give({ kind: "deny" })}
        >
          Decline
        </Button>
      </div>
    </form>
  );
}

function PageLink({ url, host, onOpen }: { url: string; host: string; onOpen: Props["onOpen"] }) {
  return (
    <div className={styles.page}>
      <p>
        Page on <strong>{host}</strong>
      </p>
      <code className={styles.url}>
        <VisibleText text={showUnambiguous(url)} />
      </code>
      <Button small icon={ExternalLink} onPress={() => void onOpen(url)}>
        Open page
      </Button>
    </div>
  );
}

interface ControlProps {
  field: InputField;
  value: InputDraft[string];
  error: string | undefined;
  onChange: (value: InputDraft[string]) => void;
}

function FieldControl({ field, value, error, onChange }: ControlProps) {
  const { name, label: title, description, isRequired, value: kind } = field;
  const label = `${title ?? name}${isRequired ? "" : " (optional)"}`;
  const shared = { label, error, help: description ?? undefined };
  switch (kind.kind) {
    case "text":
      return (
        <TextField
          {...shared}
          value={typeof value === "string" ? value : ""}
          onChange={onChange}
          maxLength={kind.maxLength ?? undefined}
          placeholder={placeholders[kind.format ?? "text"]}
        />
      );
    case "number":
      return (
        <NumberField
          {...shared}
          value={typeof value === "number" ? value : Number.NaN}
          onChange={onChange}
          minValue={kind.minimum ?? undefined}
          maxValue={kind.maximum ?? undefined}
        />
      );
    case "boolean":
      return (
        <div>
          <Checkbox isSelected={value === true} onChange={onChange} help={description ?? undefined}>
            {label}
          </Checkbox>
          <GroupFoot error={error} />
        </div>
      );
    case "choice":
      return (
        <Select
          {...shared}
          choices={kind.options.map((option) => ({ id: option.value, label: option.label ?? option.value }))}
          value={typeof value === "string" ? value : null}
          onChange={onChange}
        />
      );
    case "choices":
      return (
        <div className={styles.several}>
          <p className={styles.label}>{label}</p>
          <ChipSet
            label={label}
            options={kind.options.map((option) => ({ id: option.value, label: option.label ?? option.value }))}
            value={Array.isArray(value) ? value : []}
            onChange={onChange}
          />
          <GroupFoot error={error} />
        </div>
      );
  }
}

const placeholders = {
  text: undefined,
  email: "ada@example.org",
  uri: "https://example.org",
  date: "2026-11-28",
  "date-time": "2026-11-28T09:00:00Z",
};
