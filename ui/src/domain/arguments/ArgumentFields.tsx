/* Fields for a tool's arguments, or a JSON field. */

import { Braces, List } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { GroupFoot, NumberField, Select, TextArea, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { isJsonObject, isEqualJson } from "@/format/json";
import type { ToolView } from "@/platform";

import styles from "./ArgumentFields.module.css";
import { argumentProblems, argumentProperties, type ArgumentProperty, readJson, withArgument } from "./schema";

interface Props {
  tool: ToolView | undefined;
  value: Record<string, unknown>;
  onChange: (value: Record<string, unknown>) => void;
  /** Error message. */
  error?: string;
  /** Warning message. */
  warning?: string;
}

export function ArgumentFields({ tool, value, onChange, error, warning }: Props) {
  const properties = argumentProperties(tool?.parameters);
  const hasUnknown = Object.keys(value).some((name) => !properties.some((p) => p.name === name));
  const [raw, setRaw] = useState(hasUnknown);
  // Missing arguments are reported after an attempt.
  const problems = error === undefined ? {} : argumentProblems(tool?.parameters, value);
  const unplaced = Object.keys(problems).length === 0 || raw ? error : undefined;
  if (!raw && properties.length === 0 && !hasUnknown) return <p className={styles.hint}>No arguments.</p>;
  return (
    <div className={styles.arguments} role="group" aria-label="Arguments">
      <div className={styles.argumentsHead}>
        <span className={styles.label}>Arguments</span>
        <Button
          small
          look="ghost"
          icon={raw ? List : Braces}
          isDisabled={raw && hasUnknown}
          onPress={() => setRaw(!raw)}
        >
          {raw ? "Edit as fields" : "Edit as JSON"}
        </Button>
      </div>
      {raw ? (
        <RawArguments value={value} onChange={onChange} />
      ) : (
        properties.map((property) => (
          <ArgumentField
            key={property.name}
            property={property}
            value={value[property.name]}
            onChange={(next) => onChange(withArgument(value, property.name, next))}
            error={problems[property.name]}
          />
        ))
      )}
      <GroupFoot error={unplaced} warning={error === undefined ? warning : undefined} />
    </div>
  );
}

interface ArgumentProps {
  property: ArgumentProperty;
  value: unknown;
  onChange: (value: unknown) => void;
  error?: string;
}

function ArgumentField({ property, value, onChange, error }: ArgumentProps) {
  const { name, kind, required, about, choices, least, most } = property;
  const help = about === undefined ? undefined : <InlineCode text={about} />;
  const common = { label: required ? name : `${name} (optional)`, help, error };
  switch (kind) {
    case "text":
    case "longText": {
      const Field = kind === "text" ? TextField : TextArea;
      return <Field {...common} value={typeof value === "string" ? value : ""} onChange={onChange} />;
    }
    case "number":
    case "integer":
      return (
        <NumberField
          {...common}
          value={typeof value === "number" ? value : NaN}
          onChange={(next) => onChange(Number.isNaN(next) ? undefined : next)}
          minValue={least}
          maxValue={most}
          step={kind === "integer" ? 1 : undefined}
          className={styles.narrow}
        />
      );
    case "boolean":
      return (
        <Checkbox
          isSelected={value === true}
          onChange={(on) => onChange(on ? true : required ? false : undefined)}
          help={help}
        >
          {common.label}
        </Checkbox>
      );
    case "choice":
      return (
        <Select
          {...common}
          choices={choices.map((id) => ({ id, label: id }))}
          value={typeof value === "string" ? value : null}
          onChange={onChange}
          placeholder="Choose"
        />
      );
    case "json":
      return (
        <JsonField
          {...common}
          value={value}
          onChange={onChange}
          placeholder={property.strict ? "{ }" : "Text or JSON"}
        />
      );
  }
}

/** Keeps the typed text; the value is the parsed result. */
function JsonField({
  value,
  onChange,
  ...props
}: {
  label: string;
  help?: ReactNode;
  error?: string;
  placeholder?: string;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const [text, setText] = useState(() => formatJson(value));
  const [known, setKnown] = useState(value);
  if (!isEqualJson(known, value)) {
    setKnown(value);
    if (!isEqualJson(readJson(text), value)) setText(formatJson(value));
  }
  const change = (next: string) => {
    setText(next);
    onChange(readJson(next));
  };
  return <TextArea {...props} mono rows={2} value={text} onChange={change} />;
}

function RawArguments({
  value,
  onChange,
}: {
  value: Record<string, unknown>;
  onChange: (value: Record<string, unknown>) => void;
}) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const read = readJson(text);
  const change = (next: string) => {
    setText(next);
    const parsed = readJson(next);
    if (isJsonObject(parsed)) onChange(parsed);
  };
  return (
    <TextArea
      mono
      rows={6}
      label="Arguments as JSON"
      labelHidden
      value={text}
      onChange={change}
      error={isJsonObject(read) ? undefined : "This is not a JSON object. The last valid value is kept."}
    />
  );
}

function formatJson(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
