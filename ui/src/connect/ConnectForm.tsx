/* Form of a provider: key, model, test. Each step appears after the previous step. */

import { ExternalLink } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { ComboBox, Select, TextField } from "@/components/Field";
import { InlineCode } from "@/components/InlineCode";
import { useAddModel, useListModels } from "@/data/models";
import { usePlatform } from "@/data/platform";
import { bytes as sized } from "@/format/amount";
import type { ListedModelView, PresetView, ServerDraft, SuggestedModelView } from "@/platform";

import styles from "./Connect.module.css";
import { ModelTest } from "./ModelTest";
import { PullModel } from "./PullModel";

const kinds = [
  { id: "openai", label: "OpenAI" },
  { id: "openai-responses", label: "OpenAI Responses" },
  { id: "anthropic", label: "Anthropic" },
];
const providerNameFrom = (text: string) => text.trim().replace(/[^A-Za-z0-9_-]+/g, "-");

/** Suggests a provider name: "example" for https://llm.example.com/v1. */
function suggestName(baseUrl: string, taken: readonly string[]): string {
  const host = URL.canParse(baseUrl.trim()) ? new URL(baseUrl.trim()).hostname : "";
  const name = /^[\d.]+$|^\[|^localhost$|^$/.test(host) ? "local" : providerNameFrom(host.split(".").at(-2) ?? host);
  const free = [name, ...Array.from({ length: taken.length + 1 }, (_, more) => `${name}-${more + 2}`)];
  return free.find((one) => !taken.includes(one)) ?? name;
}

interface Props {
  preset: PresetView;
  /** Names in use. */
  taken: readonly string[];
  suggested: readonly SuggestedModelView[];
  onConnected?: () => void;
}

export function ConnectForm({ preset, taken, suggested, onConnected }: Props) {
  const { openExternal } = usePlatform();
  const isOther = preset.name === "";
  const isHere = !isOther && preset.keyPage === null;
  const [name, setName] = useState(preset.name);
  const [kind, setKind] = useState(preset.kind);
  const [baseUrl, setBaseUrl] = useState(preset.baseUrl);
  const [key, setKey] = useState("");
  const [model, setModel] = useState("");
  const [tested, setTested] = useState<{ provider: string; model: string }>();
  const list = useListModels();
  const add = useAddModel();
  const usualName = suggestName(baseUrl, taken);
  const server: ServerDraft = {
    name: providerNameFrom(name) || usualName,
    kind,
    baseUrl: baseUrl.trim(),
    ...(key.trim() !== "" && { key: key.trim() }),
  };
  const isTaken = isOther && taken.includes(server.name);
  const isWhole = server.baseUrl !== "" && !isTaken && (preset.keyPage === null || key.trim() !== "");
  const models = list.data?.models;
  const choose = () =>
    list.mutate(
      { server },
      {
        onSuccess: ({ models: found }) =>
          setModel(found.find(({ id }) => id === preset.model)?.id ?? found[0]?.id ?? ""),
      },
    );
  const connect = () => {
    const wanted = model.trim();
    add.mutate(
      { server, model: wanted },
      {
        onSuccess: () => {
          setKey("");
          setTested({ provider: server.name, model: wanted });
          onConnected?.();
        },
      },
    );
  };
  const changed =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      list.reset();
      add.reset();
      setTested(undefined);
    };
  if (tested) return <ModelTest {...tested} startsAtOnce />;
  return (
    <form
      className={styles.form}
      aria-label={`Connect ${preset.title}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (models === undefined) choose();
        else connect();
      }}
    >
      {isOther && (
        <div className={styles.pair}>
          <TextField
            label="Name"
            value={name}
            onChange={changed(setName)}
            placeholder={usualName}
            error={isTaken ? "This name is taken." : undefined}
            spellCheck="false"
            autoComplete="off"
            autoFocus
          />
          <Select label="API format" choices={kinds} value={kind} onChange={changed(setKind)} />
        </div>
      )}
      {isOther && (
        <TextField
          label="URL"
          value={baseUrl}
          onChange={changed(setBaseUrl)}
          placeholder="https://gateway.example/v1"
          spellCheck="false"
          autoComplete="off"
        />
      )}
      {!isHere && (
        <div className={styles.key}>
          <TextField
            label={isOther ? "API key (optional)" : "API key"}
            type="password"
            value={key}
            onChange={changed(setKey)}
            help="Stored as a secret, sent to this provider only, never shown again."
            autoComplete="off"
            autoFocus={!isOther}
          />
          {preset.keyPage !== null && (
            <Button small look="ghost" icon={ExternalLink} onPress={() => void openExternal(preset.keyPage ?? "")}>
              Get a key
            </Button>
          )}
        </div>
      )}
      {isHere && models === undefined && (
        <p className={styles.about}>
          {preset.title} runs on this computer at <code>{preset.baseUrl}</code>. Start it first.
        </p>
      )}
      {list.error && <ProblemText text={list.error.message} />}
      {models?.length === 0 && !isHere && <ProblemText text="The provider lists no chat model. Enter one below." />}
      {models?.length === 0 && preset.name === "ollama" && <PullModel suggested={suggested} onPulled={choose} />}
      {models !== undefined && models.length > 0 && <ModelChoice models={models} value={model} onChange={setModel} />}
      {(list.error || models?.length === 0) && preset.name !== "ollama" && (
        <TextField
          label="Model name"
          value={model}
          onChange={setModel}
          placeholder="qwen3:14b"
          spellCheck="false"
          autoComplete="off"
        />
      )}
      {add.error && <ProblemText text={add.error.message} />}
      <div className={styles.actions}>
        {models === undefined && (
          <Button type="submit" look="primary" isPending={list.isPending} isDisabled={!isWhole}>
            {isHere ? `Find ${preset.title} models` : "List models"}
          </Button>
        )}
        {((models?.length ?? 0) > 0 || (models !== undefined && preset.name !== "ollama") || list.error) && (
          <Button
            type={models === undefined ? "button" : "submit"}
            look={models === undefined ? "quiet" : "primary"}
            onPress={models === undefined ? connect : undefined}
            isPending={add.isPending}
            isDisabled={!isWhole || model.trim() === ""}
          >
            Connect and test
          </Button>
        )}
      </div>
    </form>
  );
}

function ProblemText({ text }: { text: string }) {
  return (
    <p className={styles.error} role="alert">
      <InlineCode text={text} />
    </p>
  );
}

/** Select; searchable for long lists. */
function ModelChoice({
  models,
  value,
  onChange,
}: {
  models: readonly ListedModelView[];
  value: string;
  onChange: (id: string) => void;
}) {
  const choices = models.map(({ id, title, bytes, callsTools }) => {
    const parts = [title, bytes === null ? null : sized(bytes), callsTools === false ? "no tools" : null];
    const words = parts.filter((part) => part !== null).join(" · ");
    return { id, label: id, ...(words !== "" && { about: words }) };
  });
  const props = { label: "Model", choices, value, onChange };
  return models.length > 12 ? (
    <ComboBox {...props} help={`${models.length} models; type to search.`} />
  ) : (
    <Select {...props} />
  );
}
