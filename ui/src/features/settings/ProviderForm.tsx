/* A server that speaks a known format, by its address. */

import { useState } from "react";
import { Controller, useForm } from "react-hook-form";

import { Button } from "@/components/Button";
import { Select, TextField } from "@/components/Field";
import { Worded } from "@/components/Worded";
import { fieldErrors } from "@/platform";

import { hostOf, useProviderKey } from "./keyOfProvider";
import { providerName, sentence } from "./patch";
import { SavedMark } from "./Setting";
import styles from "./Settings.module.css";
import { useFate, usePatch } from "./useSetting";

interface Provider {
  name: string;
  kind: string;
  baseUrl: string;
  model: string;
  key: string;
  keyEnv: string;
  contextTokens: string;
}

const empty: Provider = { name: "", kind: "openai", baseUrl: "", model: "", key: "", keyEnv: "", contextTokens: "" };
const kinds = [{ id: "openai", label: "OpenAI" }, { id: "openai-responses", label: "OpenAI Responses" }, { id: "anthropic", label: "Anthropic" }];

/** What goes into the file, never the key itself; where a key comes from and the size of a context only when they are given. */
export function providerPatch({ name, keyEnv, contextTokens, ...rest }: Provider, keySecret?: string): Record<string, unknown> {
  const own = { kind: rest.kind, baseUrl: rest.baseUrl.trim(), model: rest.model.trim(), ...(keySecret !== undefined && { keySecret }), ...(keyEnv.trim() !== "" && { keyEnv: keyEnv.trim() }), ...(contextTokens.trim() !== "" && { contextTokens: Number(contextTokens.trim()) }) };
  return { providers: { [providerName(name)]: own } };
}

export function ProviderForm({ taken }: { taken: readonly string[] }) {
  const patch = usePatch();
  const { keep, forget } = useProviderKey();
  const { control, getValues, setError, clearErrors, reset, formState: { errors } } = useForm<Provider>({ defaultValues: empty });
  const [fate, follow] = useFate();
  const [failure, setFailure] = useState<string>();
  const isPlaced = Object.keys(errors).length > 0;

  const check = (values: Provider): boolean => {
    const name = providerName(values.name);
    const wrong: [keyof Provider, string | false][] = [
      ["name", name === "" ? "Give it a name." : taken.includes(name) && "There is one with this name already."],
      ["baseUrl", values.baseUrl.trim() === "" ? "Give its address." : values.key !== "" && hostOf(values.baseUrl) === undefined && "Give an address that begins with http:// or https://."],
      ["model", values.model.trim() === "" && "Name the model."],
      ["keyEnv", /^(sk-|key-)|\s/.test(values.keyEnv.trim()) && "This looks like a key. It belongs into the field beside it."],
      ["keyEnv", values.key !== "" && values.keyEnv.trim() !== "" && "Give the key or a variable, not both."],
      ["contextTokens", !/^\d{0,8}$/.test(values.contextTokens.trim()) && "Give a whole number of tokens, like 32000."],
    ];
    const found = wrong.filter((one): one is [keyof Provider, string] => one[1] !== false);
    for (const [field, message] of found) setError(field, { message });
    return found.length === 0;
  };
  const add = async () => {
    const values = getValues();
    clearErrors();
    setFailure(undefined);
    if (!check(values)) return;
    const saved = await follow(() => save(values).catch((error: unknown) => {
      for (const { path, message } of fieldErrors(error)) place(path, message);
      throw error;
    }), "providers");
    if (saved) reset(empty);
  };
  /** First the key, because a provider is refused whose key is not there; without the provider it does not stay. */
  const save = async (values: Provider) => {
    const host = hostOf(values.baseUrl);
    const secret = values.key === "" || host === undefined ? undefined : await keep(providerName(values.name), host, values.key);
    try {
      await patch(providerPatch(values, secret));
    } catch (error) {
      if (secret !== undefined) await forget(secret);
      throw error;
    }
  };
  const place = (path: string, message: string) => {
    const isOfKey = path === "value" || path.endsWith(".keySecret");
    const field = isOfKey ? "key" : (Object.keys(empty) as (keyof Provider)[]).find((key) => path.endsWith(`.${key}`));
    if (field) setError(field, { message: sentence(message) });
    else setFailure(sentence(message));
  };
  const text = (name: Exclude<keyof Provider, "kind">, label: string, rest: { help?: string; placeholder?: string; type?: "password" } = {}) => (
    <Controller
      control={control}
      name={name}
      render={({ field: { value, onChange, onBlur }, fieldState }) => (
        <TextField label={label} {...rest} value={value} onChange={(next) => { onChange(next); clearErrors(name); }} onBlur={onBlur} error={fieldState.error?.message} spellCheck="false" autoComplete="off" />
      )}
    />
  );
  return (
    <form className={styles.form} onSubmit={(event) => { event.preventDefault(); void add(); }} noValidate aria-label="Add a server">
      <div className={styles.pair}>
        {text("name", "Name", { placeholder: "workstation" })}
        <Controller control={control} name="kind" render={({ field: { value, onChange } }) => <Select label="Format it speaks" choices={kinds} value={value} onChange={onChange} />} />
      </div>
      {text("baseUrl", "Address", { placeholder: "http://192.168.1.20:8080/v1" })}
      <div className={styles.pair}>
        {text("key", "Its key", { type: "password", help: "Kept as a secret, for this server’s host alone, and never shown again. Empty: it needs none." })}
        {text("keyEnv", "Or the variable that holds it", { placeholder: "WORKSTATION_KEY", help: "The name of an environment variable, never the key." })}
      </div>
      <div className={styles.pair}>
        {text("model", "Model", { placeholder: "qwen3:14b" })}
        {text("contextTokens", "Tokens it reads at once", { placeholder: "32000", help: "Its context window. Empty: 16,000 on this computer, 100,000 elsewhere. A run that grows beyond it goes on; what is oldest is shortened." })}
      </div>
      {failure !== undefined && <p className={styles.error} role="alert"><Worded text={failure} /></p>}
      {failure === undefined && !isPlaced && fate.kind === "failed" && <p className={styles.error} role="alert">It was not added. <Worded text={fate.message} /></p>}
      <div className={styles.actions}>
        <Button type="submit" isPending={fate.kind === "saving"}>
          Add server
        </Button>
        <SavedMark fate={fate} />
      </div>
    </form>
  );
}
