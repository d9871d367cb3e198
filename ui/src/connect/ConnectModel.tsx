/* Connects a model: choose a provider, enter a key, choose and test a model. Used by Settings and the first start.
   Never shows a stored key. */

import { ArrowLeft } from "lucide-react";
import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { Failure } from "@/components/Placeholders";
import { useModelPresets } from "@/data/models";
import type { PresetView } from "@/platform";

import styles from "./Connect.module.css";
import { ConnectForm } from "./ConnectForm";

/** Custom server. */
const other: PresetView = { name: "", title: "Other", kind: "openai", baseUrl: "", keyPage: null, model: null };

const about: Record<string, string> = {
  anthropic: "Claude, with an API key",
  openai: "GPT, with an API key",
  openrouter: "Many vendors, one key",
  ollama: "On this computer, free",
  lmstudio: "On this computer, free",
  "": "Any OpenAI or Anthropic API",
};

export function ConnectModel({ taken, onConnected }: { taken: readonly string[]; onConnected?: () => void }) {
  const { data, error, refetch } = useModelPresets();
  const [chosen, setChosen] = useState<PresetView>();
  const heading = useId();
  if (error) return <Failure title="Could not load providers." error={error} onRetry={() => void refetch()} />;
  if (chosen) {
    return (
      <section className={styles.chosen} aria-labelledby={heading}>
        <div className={styles.head}>
          <Button small look="ghost" icon={ArrowLeft} onPress={() => setChosen(undefined)}>
            All providers
          </Button>
          <h4 id={heading}>{chosen.title}</h4>
        </div>
        <ConnectForm
          key={chosen.name}
          preset={chosen}
          taken={taken}
          suggested={data?.suggested ?? []}
          onConnected={onConnected}
        />
      </section>
    );
  }
  return (
    <ul className={styles.tiles} aria-label="Providers">
      {[...(data?.presets ?? []), ...(data ? [other] : [])].map((preset) => (
        <li key={preset.title}>
          <Button className={styles.tile} onPress={() => setChosen(preset)} aria-label={`Connect ${preset.title}`}>
            <span className={styles.tileText}>
              <span className={styles.name}>{preset.title}</span>
              <span className={styles.about}>{about[preset.name] ?? ""}</span>
            </span>
          </Button>
        </li>
      ))}
    </ul>
  );
}
