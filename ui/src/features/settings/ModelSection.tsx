/* Providers and the model in use. Keys become secrets; the settings file holds only their names. */

import { Check, CircleDashed, RefreshCw, TriangleAlert } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { cx } from "@/components/cx";
import { TextField } from "@/components/Field";
import { Collapsible } from "@/components/Collapsible";
import { Section } from "@/components/Page";
import { Failure } from "@/components/Placeholders";
import { useNow } from "@/components/useNow";
import { InlineCode } from "@/components/InlineCode";
import { useCall } from "@/data/actions";
import { usePatch } from "@/data/config";
import { keys } from "@/data/keys";
import { useProviders, useStatus } from "@/data/queries";
import { ConnectModel } from "@/connect/ConnectModel";
import { ModelTest, Verdict } from "@/connect/ModelTest";
import { firstLine } from "@/format/text";
import { whenWithin } from "@/format/time";
import type { ConfigView, FailingModel, ProviderSource, ProviderState, ProviderView } from "@/platform";

import { ProviderForm } from "./ProviderForm";
import { ProviderKey } from "./ProviderKey";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSaveState, useSetting } from "./useSetting";

const sources: Record<ProviderSource, string> = {
  config: "from the settings file",
  local: "found on this computer",
  environment: "found in the environment",
};

export function ModelSection({ config }: { config: ConfigView }) {
  const { data, error, refetch } = useProviders();
  const look = useCall("providers.list", [keys.providers, keys.status]);
  return (
    <Section
      title="Model"
      id="model"
      aside={
        <Button
          small
          look="ghost"
          icon={RefreshCw}
          isPending={look.isPending}
          onPress={() => look.mutate({ refresh: true })}
        >
          Search again
        </Button>
      }
    >
      {(look.error ?? error) && (
        <Failure
          title="Could not load models."
          error={look.error ?? error ?? new Error()}
          onRetry={() => void refetch()}
        />
      )}
      <div className={styles.list}>
        {data?.providers.length === 0 && (
          <SettingRow
            title="No model yet"
            help="Agents need a model: connect one below. Reminders and tool calls work without."
          />
        )}
        {data?.providers.map((provider) => (
          <ProviderRow
            key={provider.name}
            provider={provider}
            isActive={data.active === provider.name}
            isChosen={config.model.provider === provider.name}
            config={config}
          />
        ))}
        {config.model.provider !== null && (
          <PinnedProvider
            provider={config.model.provider}
            isKnown={data?.providers.some(({ name }) => name === config.model.provider) ?? true}
          />
        )}
        {data !== undefined && data.providers.length > 0 && (
          <ModelName key={config.model.name} config={config} providers={data.providers} active={data.active} />
        )}
      </div>
      {data && (
        <Collapsible
          title="Connect a model"
          summary="Anthropic, OpenAI, OpenRouter, Ollama, LM Studio, or another server"
          defaultExpanded={data.providers.length === 0}
        >
          <ConnectModel taken={config.model.providers.map(({ name }) => name)} />
          <p className={styles.help}>
            Servers on this computer (Ollama, LM Studio, llama.cpp, Foundry Local) and keys in the environment, such as{" "}
            <code>ANTHROPIC_API_KEY</code>, are found automatically.
          </p>
        </Collapsible>
      )}
      <Collapsible title="Add provider manually" summary="With an environment variable or a context window">
        <ProviderForm taken={config.model.providers.map(({ name }) => name)} />
      </Collapsible>
    </Section>
  );
}

function ProviderRow({
  provider,
  isActive,
  isChosen,
  config,
}: {
  provider: ProviderView;
  isActive: boolean;
  isChosen: boolean;
  config: ConfigView;
}) {
  const { saveState, set } = useSetting("model.provider");
  const patch = usePatch();
  const [removal, follow] = useSaveState();
  const { name, label, model, baseUrl, source, keyEnv, problem, tests } = provider;
  const failing = useStatus().data?.failingModels.find((one) => one.provider === name && one.model === model);
  const tested = tests.find((test) => test.model === model);
  const help = (
    <>
      {model} · {baseUrl} · {sources[source]}
      {keyEnv !== null && (
        <>
          {" "}
          · key from environment variable <code>{keyEnv}</code>
        </>
      )}
      {problem !== null && (
        <p className={styles.problem}>
          <InlineCode text={problem} />
        </p>
      )}
      {failing && <FailingModelNote failing={failing} />}
      {tested && <Verdict test={tested} isDated />}
      {source === "config" && keyEnv === null && <ProviderKey provider={provider} config={config} />}
    </>
  );
  const remove = () =>
    void follow(
      () => patch({ providers: { [name]: null }, ...(isChosen && { model: { provider: null } }) }),
      `providers.${name}`,
    );
  return (
    <SettingRow title={label} help={help} saveState={removal.kind === "failed" ? removal : saveState}>
      {isActive && <ProviderStateBadge state={failing ? "failing" : provider.state} />}
      <ModelTest provider={name} model={model} isCompact />
      {source === "config" && (
        <Button
          small
          look="ghost"
          isPending={removal.kind === "saving"}
          onPress={remove}
          aria-label={`Remove ${label}`}
        >
          Remove
        </Button>
      )}
      {!isChosen && (
        <Button
          small
          isPending={saveState.kind === "saving"}
          onPress={() => void set(name)}
          aria-label={isActive ? `Pin ${label}` : `Use ${label}`}
        >
          {isActive ? "Pin" : "Use"}
        </Button>
      )}
    </SettingRow>
  );
}

/** State of the provider in use. */
function ProviderStateBadge({ state }: { state: ProviderState }) {
  switch (state) {
    case "failing":
      return (
        <span className={cx(styles.using, styles.problem)}>
          <TriangleAlert size={14} aria-hidden /> Not responding
        </span>
      );
    case "untried":
      return (
        <span className={cx(styles.using, styles.untried)}>
          <CircleDashed size={14} aria-hidden /> Untested
        </span>
      );
    case "answered":
      return (
        <span className={styles.using}>
          <Check size={14} aria-hidden /> In use
        </span>
      );
  }
}

/** Error of a model that does not respond, and the remediation. */
function FailingModelNote({ failing: { sinceMs, message, fix } }: { failing: FailingModel }) {
  const now = useNow();
  return (
    <>
      <p className={styles.problem}>
        Not responding since {whenWithin(sinceMs, now)}: <InlineCode text={firstLine(message)} />
      </p>
      <p>
        <InlineCode text={fix} />
      </p>
    </>
  );
}

function PinnedProvider({ provider, isKnown }: { provider: string; isKnown: boolean }) {
  const { saveState, set } = useSetting("model.provider");
  return (
    <SettingRow
      title={isKnown ? "Pinned" : `“${provider}” is pinned but missing`}
      help="When unpinned, Rouse uses the best model it finds."
      saveState={saveState}
    >
      <Button small isPending={saveState.kind === "saving"} onPress={() => void set(null)}>
        Unpin
      </Button>
    </SettingRow>
  );
}

/** Saved on blur; empty uses the provider's default. */
function ModelName({
  config,
  providers,
  active,
}: {
  config: ConfigView;
  providers: ProviderView[];
  active: string | null;
}) {
  const { saveState, set } = useSetting("model.name");
  const present = config.model.name ?? "";
  const inUse = providers.find(({ name }) => name === active);
  const [typed, setTyped] = useState(present);
  const keep = () => {
    if (typed.trim() !== present) void set(typed.trim() === "" ? null : typed.trim());
  };
  return (
    <SettingRow
      title="Model name"
      help={
        inUse?.source === "config"
          ? "[default: the model you added with the provider]"
          : "[default: the provider’s first model]"
      }
      saveState={saveState}
    >
      <TextField
        label="Model name"
        labelHidden
        value={typed}
        onChange={setTyped}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key === "Enter") keep();
        }}
        placeholder={config.model.name === null ? inUse?.model : undefined}
        className={styles.select}
      />
    </SettingRow>
  );
}
