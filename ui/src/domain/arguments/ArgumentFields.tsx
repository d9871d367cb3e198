/* A tool's arguments: a field for each property of its schema, or all of them as JSON. */

import { Braces, List } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Choice";
import { GroupFoot, NumberField, Select, TextArea, TextField } from "@/components/Field";
import { Worded } from "@/components/Worded";
import { isPlain, same } from "@/format/json";
import type { ToolView } from "@/platform";

import styles from "./ArgumentFields.module.css";
import { argumentProblems, propertiesOf, type Property, readJson, withArgument } from "./schema";

interface Props {
  tool: ToolView | undefined;
  value: Record<string, unknown>;
  onChange: (value: Record<string, unknown>) => void;
  /** What is wrong with them as they are. */
  error?: string;
  /** What will go wrong with them as they are. */
  warning?: string;
}

export function ArgumentFields({ tool, value, onChange, error, warning }: Props) {
  const properties = propertiesOf(tool?.parameters);
  const strangers = Object.keys(value).some((name) => !properties.some((p) => p.name === name));
  const [raw, setRaw] = useState(strangers);
  // What is missing is said only after an attempt.
  const problems = error === undefined ? {} : argumentProblems(tool?.parameters, value);
  const unplaced = Object.keys(problems).length === 0 || raw ? error : undefined;
  if (!raw && properties.length === 0 && !strangers) return <p className={styles.hint}>It takes no arguments.</p>;
  return (
    <div className={styles.arguments} role="group" aria-label="Arguments">
      <div className={styles.argumentsHead}>
        <span className={styles.label}>Arguments</span>
        <Button small look="ghost" icon={raw ? List : Braces} isDisabled={raw && strangers} onPress={() => setRaw(!raw)}>
          {raw ? "As fields" : "As JSON"}
        </Button>
      </div>
      {raw ? (
        <RawArguments value={value} onChange={onChange} />
      ) : (
        properties.map((property) => (
          <Argument
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
  property: Property;
  value: unknown;
  onChange: (value: unknown) => void;
  error?: string;
}

function Argument({ property, value, onChange, error }: ArgumentProps) {
  const { name, kind, required, about, choices, least, most } = property;
  const help = about === undefined ? undefined : <Worded text={about} />;
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
      return <Checkbox isSelected={value === true} onChange={(on) => onChange(on ? true : required ? false : undefined)} help={help}>{common.label}</Checkbox>;
    case "choice":
      return <Select {...common} choices={choices.map((id) => ({ id, label: id }))} value={typeof value === "string" ? value : null} onChange={onChange} placeholder="Choose" />;
    case "json":
      return <JsonText {...common} value={value} onChange={onChange} placeholder={property.strict ? "{ }" : "A text, or JSON"} />;
  }
}

/** Keeps what is being typed; the value is what can be read from it. */
function JsonText({ value, onChange, ...props }: { label: string; help?: ReactNode; error?: string; placeholder?: string; value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(() => written(value));
  const [known, setKnown] = useState(value);
  if (!same(known, value)) {
    setKnown(value);
    if (!same(readJson(text), value)) setText(written(value));
  }
  const change = (next: string) => {
    setText(next);
    onChange(readJson(next));
  };
  return <TextArea {...props} mono rows={2} value={text} onChange={change} />;
}

function RawArguments({ value, onChange }: { value: Record<string, unknown>; onChange: (value: Record<string, unknown>) => void }) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const read = readJson(text);
  const change = (next: string) => {
    setText(next);
    const parsed = readJson(next);
    if (isPlain(parsed)) onChange(parsed);
  };
  return <TextArea mono rows={6} label="Arguments as JSON" labelHidden value={text} onChange={change} error={isPlain(read) ? undefined : "This is not a JSON object yet; what was readable last is kept."} />;
}

function written(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
