/* The model: what was found, what is in use, and how to connect one. A key that is entered here becomes a secret; the file holds
   its name, or that of an environment variable, and never the key. */

import { Check, CircleDashed, RefreshCw, TriangleAlert } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/Button";
import { cx } from "@/components/cx";
import { TextField } from "@/components/Field";
import { Folded } from "@/components/Folded";
import { Section } from "@/components/Page";
import { Failure } from "@/components/States";
import { useNow } from "@/components/useNow";
import { Worded } from "@/components/Worded";
import { useCall } from "@/data/actions";
import { keys } from "@/data/keys";
import { useProviders, useStatus } from "@/data/queries";
import { ConnectModel } from "@/connect/ConnectModel";
import { ModelTest, Verdict } from "@/connect/ModelTest";
import { firstLine } from "@/format/text";
import { whenWithin } from "@/format/time";
import type { ConfigView, FailingModel, ProviderSource, ProviderState, ProviderView } from "@/platform";

import { ProviderForm } from "./ProviderForm";
import { ProviderKey } from "./ProviderKey";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { usePatch, useFate, useSetting } from "./useSetting";

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
        <Button small look="ghost" icon={RefreshCw} isPending={look.isPending} onPress={() => look.mutate({ refresh: true })}>
          Look again
        </Button>
      }
    >
      {(look.error ?? error) && <Failure title="The models could not be listed." error={look.error ?? error ?? new Error()} onRetry={() => void refetch()} />}
      <div className={styles.list}>
        {data?.providers.length === 0 && <Setting title="No model yet" help="Reminders and tool calls work without one. Agents need a model: connect one below." />}
        {data?.providers.map((provider) => (
          <Provider key={provider.name} provider={provider} isActive={data.active === provider.name} isChosen={config.model.provider === provider.name} config={config} />
        ))}
        {config.model.provider !== null && <Automatic provider={config.model.provider} isKnown={data?.providers.some(({ name }) => name === config.model.provider) ?? true} />}
        {data !== undefined && data.providers.length > 0 && <ModelName key={config.model.name} config={config} providers={data.providers} active={data.active} />}
      </div>
      {data && (
        <Folded title="Connect a model" summary="Anthropic, OpenAI, OpenRouter, Ollama, LM Studio, or another server" defaultExpanded={data.providers.length === 0}>
          <ConnectModel taken={config.model.providers.map(({ name }) => name)} />
          <p className={styles.help}>Servers on this computer (Ollama, LM Studio, llama.cpp, Foundry Local) and keys in the environment, such as <code>ANTHROPIC_API_KEY</code>, are found without this.</p>
        </Folded>
      )}
      <Folded title="Add a provider by hand" summary="With an environment variable or a context window">
        <ProviderForm taken={config.model.providers.map(({ name }) => name)} />
      </Folded>
    </Section>
  );
}

function Provider({ provider, isActive, isChosen, config }: { provider: ProviderView; isActive: boolean; isChosen: boolean; config: ConfigView }) {
  const { fate, set } = useSetting("model.provider");
  const patch = usePatch();
  const [removal, follow] = useFate();
  const { name, label, model, baseUrl, source, keyEnv, problem, tests } = provider;
  const asked = (isActive ? config.model.name : null) ?? model;
  const failing = useStatus().data?.failingModels.find((one) => one.provider === name && one.model === asked);
  const tested = tests.find((test) => test.model === asked);
  const help = (
    <>
      {model} · {baseUrl} · {sources[source]}
      {keyEnv !== null && <> · its key comes from the environment variable <code>{keyEnv}</code></>}
      {problem !== null && <p className={styles.problem}><Worded text={problem} /></p>}
      {failing && <Silence failing={failing} />}
      {tested && <Verdict test={tested} isDated />}
      {source === "config" && keyEnv === null && <ProviderKey provider={provider} config={config} />}
    </>
  );
  const remove = () => void follow(() => patch({ providers: { [name]: null }, ...(isChosen && { model: { provider: null } }) }), `providers.${name}`);
  return (
    <Setting title={label} help={help} fate={removal.kind === "failed" ? removal : fate}>
      {isActive && <InUse state={failing ? "failing" : provider.state} />}
      <ModelTest provider={name} model={asked} isCompact />
      {source === "config" && (
        <Button small look="ghost" isPending={removal.kind === "saving"} onPress={remove} aria-label={`Remove ${label}`}>
          Remove
        </Button>
      )}
      {!isChosen && (
        <Button small isPending={fate.kind === "saving"} onPress={() => void set(name)} aria-label={isActive ? `Always use ${label}` : `Use ${label}`}>
          {isActive ? "Always use" : "Use"}
        </Button>
      )}
    </Setting>
  );
}

/** Whether the model in use has answered: one that never did is not told as working. */
function InUse({ state }: { state: ProviderState }) {
  switch (state) {
    case "failing":
      return <span className={cx(styles.using, styles.problem)}><TriangleAlert size={14} aria-hidden /> Does not answer</span>;
    case "untried":
      return <span className={cx(styles.using, styles.untried)}><CircleDashed size={14} aria-hidden /> Not tried yet</span>;
    case "answered":
      return <span className={styles.using}><Check size={14} aria-hidden /> In use</span>;
  }
}

/** Since when it has not answered, with what it said, and what can be done. */
function Silence({ failing: { sinceMs, words, mend } }: { failing: FailingModel }) {
  const now = useNow();
  return (
    <>
      <p className={styles.problem}>It has not answered since {whenWithin(sinceMs, now)}: <Worded text={firstLine(words)} /></p>
      <p><Worded text={mend} /></p>
    </>
  );
}

function Automatic({ provider, isKnown }: { provider: string; isKnown: boolean }) {
  const { fate, set } = useSetting("model.provider");
  return (
    <Setting title={isKnown ? "Chosen by you" : `“${provider}” is chosen but not there`} help="Otherwise Rouse uses the best one it finds." fate={fate}>
      <Button small isPending={fate.kind === "saving"} onPress={() => void set(null)}>
        Choose for me
      </Button>
    </Setting>
  );
}

/** Saved when the field is left; emptied, the provider's own choice counts again. */
function ModelName({ config, providers, active }: { config: ConfigView; providers: ProviderView[]; active: string | null }) {
  const { fate, set } = useSetting("model.name");
  const present = config.model.name ?? "";
  const inUse = providers.find(({ name }) => name === active);
  const [typed, setTyped] = useState(present);
  const keep = () => {
    if (typed.trim() !== present) void set(typed.trim() === "" ? null : typed.trim());
  };
  return (
    <Setting title="Model name" help={inUse?.source === "config" ? "Empty: the one you named when you added the server." : "Empty: the one the provider offers first."} fate={fate}>
      <TextField
        label="Model name"
        labelHidden
        value={typed}
        onChange={setTyped}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key === "Enter") keep();
        }}
        placeholder={inUse?.model}
        className={styles.select}
      />
    </Setting>
  );
}
