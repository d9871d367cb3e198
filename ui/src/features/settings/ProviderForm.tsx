/* Adds a provider by address. */

import { toSentence } from "@/format/text";
import { useState } from "react";
import { Controller, useForm } from "react-hook-form";

import { Button } from "@/components/Button";
import { Select, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { usePatch } from "@/data/config";
import { fieldErrors } from "@/platform";

import { secretHost, useProviderKey } from "./providerSecret";
import { providerName } from "./configPatch";
import { SavedMark } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState } from "./useSetting";

interface ProviderInput {
  name: string;
  kind: string;
  baseUrl: string;
  model: string;
  key: string;
  keyEnv: string;
  contextTokens: string;
}

const empty: ProviderInput = {
  name: "",
  kind: "openai",
  baseUrl: "",
  model: "",
  key: "",
  keyEnv: "",
  contextTokens: "",
};
const kinds = [
  { id: "openai", label: "OpenAI" },
  { id: "openai-responses", label: "OpenAI Responses" },
  { id: "anthropic", label: "Anthropic" },
];

/** Config patch; contains the name of a secret, never the key. */
export function providerPatch(
  { name, keyEnv, contextTokens, ...rest }: ProviderInput,
  keySecret?: string,
): Record<string, unknown> {
  const own = {
    kind: rest.kind,
    baseUrl: rest.baseUrl.trim(),
    model: rest.model.trim(),
    ...(keySecret !== undefined && { keySecret }),
    ...(keyEnv.trim() !== "" && { keyEnv: keyEnv.trim() }),
    ...(contextTokens.trim() !== "" && { contextTokens: Number(contextTokens.trim()) }),
  };
  return { providers: { [providerName(name)]: own } };
}

export function ProviderForm({ taken }: { taken: readonly string[] }) {
  const patch = usePatch();
  const { keep, forget } = useProviderKey();
  const {
    control,
    getValues,
    setError,
    clearErrors,
    reset,
    formState: { errors },
  } = useForm<ProviderInput>({ defaultValues: empty });
  const [saveState, follow] = useSaveState();
  const [failure, setFailure] = useState<string>();
  const isPlaced = Object.keys(errors).length > 0;

  const check = (values: ProviderInput): boolean => {
    const name = providerName(values.name);
    const wrong: [keyof ProviderInput, string | false][] = [
      ["name", name === "" ? "Add a name." : taken.includes(name) && "This name is taken."],
      [
        "baseUrl",
        values.baseUrl.trim() === ""
          ? "Add an address."
          : values.key !== "" &&
            secretHost(values.baseUrl) === undefined &&
            "Use an address that starts with http:// or https://.",
      ],
      ["model", values.model.trim() === "" && "Add a model."],
      ["keyEnv", /^(sk-|key-)|\s/.test(values.keyEnv.trim()) && "This looks like a key. Enter it as the API key."],
      ["keyEnv", values.key !== "" && values.keyEnv.trim() !== "" && "Use a key or a variable, not both."],
      ["contextTokens", !/^\d{0,8}$/.test(values.contextTokens.trim()) && "Enter a whole number, such as 32000."],
    ];
    const found = wrong.filter((one): one is [keyof ProviderInput, string] => one[1] !== false);
    for (const [field, message] of found) setError(field, { message });
    return found.length === 0;
  };
  const add = async () => {
    const values = getValues();
    clearErrors();
    setFailure(undefined);
    if (!check(values)) return;
    const saved = await follow(
      () =>
        save(values).catch((error: unknown) => {
          for (const { path, message } of fieldErrors(error)) place(path, message);
          throw error;
        }),
      "providers",
    );
    if (saved) reset(empty);
  };
  /** Stores the key first, because the settings refuse a missing secret; removes the key on failure. */
  const save = async (values: ProviderInput) => {
    const host = secretHost(values.baseUrl);
    const secret =
      values.key === "" || host === undefined ? undefined : await keep(providerName(values.name), host, values.key);
    try {
      await patch(providerPatch(values, secret));
    } catch (error) {
      if (secret !== undefined) await forget(secret);
      throw error;
    }
  };
  const place = (path: string, message: string) => {
    const isOfKey = path === "value" || path.endsWith(".keySecret");
    const field = isOfKey
      ? "key"
      : (Object.keys(empty) as (keyof ProviderInput)[]).find((key) => path.endsWith(`.${key}`));
    if (field) setError(field, { message: toSentence(message) });
    else setFailure(toSentence(message));
  };
  const text = (
    name: Exclude<keyof ProviderInput, "kind">,
    label: string,
    rest: { help?: string; placeholder?: string; type?: "password" } = {},
  ) => (
    <Controller
      control={control}
      name={name}
      render={({ field: { value, onChange, onBlur }, fieldState }) => (
        <TextField
          label={label}
          {...rest}
          value={value}
          onChange={(next) => {
            onChange(next);
            clearErrors(name);
          }}
          onBlur={onBlur}
          error={fieldState.error?.message}
          spellCheck="false"
          autoComplete="off"
        />
      )}
    />
  );
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
      noValidate
      aria-label="Add provider"
    >
      <div className={styles.pair}>
        {text("name", "Name", { placeholder: "workstation" })}
        <Controller
          control={control}
          name="kind"
          render={({ field: { value, onChange } }) => (
            <Select label="API format" choices={kinds} value={value} onChange={onChange} />
          )}
        />
      </div>
      {text("baseUrl", "URL", { placeholder: "http://192.168.1.20:8080/v1" })}
      <div className={styles.pair}>
        {text("key", "API key", {
          type: "password",
          help: "Stored as a secret for this provider’s host, never shown again. [default: none]",
        })}
        {text("keyEnv", "Key variable", {
          placeholder: "WORKSTATION_KEY",
          help: "Name of an environment variable, never the key.",
        })}
      </div>
      <div className={styles.pair}>
        {text("model", "Model", { placeholder: "qwen3:14b" })}
        {text("contextTokens", "Context window", {
          placeholder: "32000",
          help: "In tokens. [default: 16,000 on this computer, 100,000 elsewhere]",
        })}
      </div>
      {failure !== undefined && (
        <p className={styles.error} role="alert">
          <InlineCode text={failure} />
        </p>
      )}
      {failure === undefined && !isPlaced && saveState.kind === "failed" && (
        <p className={styles.error} role="alert">
          Not added. <InlineCode text={saveState.message} />
        </p>
      )}
      <div className={styles.actions}>
        <Button type="submit" isPending={saveState.kind === "saving"}>
          Add provider
        </Button>
        <SavedMark saveState={saveState} />
      </div>
    </form>
  );
}
