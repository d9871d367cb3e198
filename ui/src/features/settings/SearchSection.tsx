/* Search provider of `web_search`; required by the tool. */

import { Select } from "@/components/Field";
import { Section } from "@/components/Page";
import type { ConfigView } from "@/platform";

import { TextSetting } from "./controls";
import { overridingVariable } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSetting } from "./useSetting";

/** No provider. */
const NONE = "none";

/** Environment variable and host of each key. */
const keys: Record<string, { variable: string; host: string }> = {
  brave: { variable: "BRAVE_API_KEY", host: "api.search.brave.com" },
  tavily: { variable: "TAVILY_API_KEY", host: "api.tavily.com" },
  exa: { variable: "EXA_API_KEY", host: "api.exa.ai" },
  kagi: { variable: "KAGI_API_KEY", host: "kagi.com" },
};

const choices = [
  { id: NONE, label: "None" },
  { id: "searxng", label: "SearXNG (self-hosted)" },
  { id: "brave", label: "Brave Search" },
  { id: "tavily", label: "Tavily" },
  { id: "exa", label: "Exa" },
  { id: "kagi", label: "Kagi" },
];

export function SearchSection({ config }: { config: ConfigView }) {
  const { provider, url, keySecret } = config.search;
  const key = provider === null ? undefined : keys[provider];
  const { saveState, set } = useSetting("search.provider");
  const overridden = overridingVariable(config, "search.provider");
  return (
    <Section title="Web search" id="search">
      <div className={styles.list}>
        <SettingRow
          title="Search provider"
          help="Lets agents use web_search. Queries go to this provider."
          saveState={saveState}
          overridden={overridden}
        >
          <Select
            label="Search provider"
            labelHidden
            className={styles.select}
            choices={choices}
            value={provider ?? NONE}
            onChange={(id) => void set(id === NONE ? null : id)}
          />
        </SettingRow>
        {provider === "searxng" && (
          <TextSetting
            config={config}
            name="search.url"
            title="URL"
            help="For example http://127.0.0.1:8888. Its settings need json in search.formats."
            value={url ?? ""}
          />
        )}
        {key && (
          <TextSetting
            config={config}
            name="search.keySecret"
            title="API key"
            help={`The name of a stored secret for ${key.host} (see Secrets). Empty: ${key.variable} where Rouse starts.`}
            value={keySecret ?? ""}
          />
        )}
      </div>
    </Section>
  );
}
