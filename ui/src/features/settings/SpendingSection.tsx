/* What was spent, and what all runs together may spend in a day: jobs, the heartbeat and the chat. */

import { NumberField } from "@/components/Field";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { useSpending } from "@/data/queries";
import { plural, spentWords } from "@/format/amount";
import type { ConfigView } from "@/platform";

import { overriddenBy } from "./patch";
import { Setting } from "./Setting";
import styles from "./Settings.module.css";
import { useSetting, useTyped } from "./useSetting";

export function SpendingSection({ config }: { config: ConfigView }) {
  return (
    <Section title="Spending" id="spending">
      <Spent />
      <Limit config={config} name="budget.tokensPerDay" title="Most tokens of a day" help="Of everything together. Later runs of that day are skipped, with the reason." value={config.budget.tokensPerDay} />
      <Limit config={config} name="budget.usdPerDay" title="Most dollars of a day" help="A model whose price is not known is not asked then, unless tokens are limited as well." unit="USD" value={config.budget.usdPerDay} />
      <Setting
        title="Prices"
        help={`List prices of ${config.prices.listedOn}. ${own(config.prices.own.length)} Models on this computer cost nothing.`}
      />
    </Section>
  );
}

function own(count: number): string {
  return count === 0 ? "Your own go before them: [prices] in the settings file." : `${plural(count, "price")} of your own ${count === 1 ? "goes" : "go"} before them.`;
}

function Spent() {
  const { data } = useSpending();
  if (!data) return null;
  return (
    <Setting
      title="Spent"
      help={<>Today {spentWords(data.today)}; this month {spentWords(data.month)}. A new day begins <Time at={data.dayEndsAtMs} as="within" />.</>}
    />
  );
}

interface LimitProps {
  config: ConfigView;
  name: string;
  title: string;
  help: string;
  unit?: string;
  value: number | null;
}

/** A limit that may be left out; an emptied field takes it away. */
function Limit({ config, name, title, help, unit, value }: LimitProps) {
  const { fate, set } = useSetting(name);
  const overridden = overriddenBy(config, name);
  const [typed, setTyped] = useTyped(value ?? NaN);
  const change = (next: number) => {
    setTyped(next);
    const wanted = Number.isNaN(next) ? null : next;
    if (wanted !== value) void set(wanted);
  };
  return (
    <Setting title={title} help={help} fate={fate} overridden={overridden}>
      <NumberField
        label={title}
        labelHidden
        unit={unit}
        value={typed}
        onChange={change}
        minValue={unit === undefined ? 1 : 0.01}
        placeholder="No limit"
        formatOptions={{ maximumFractionDigits: unit === undefined ? 0 : 2 }}
        isDisabled={overridden !== undefined}
        className={styles.number}
      />
    </Setting>
  );
}
