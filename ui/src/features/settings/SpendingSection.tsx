/* Spending and the daily budget of all runs. */

import { NumberField } from "@/components/Field";
import { Section } from "@/components/Page";
import { Time } from "@/components/Time";
import { useSpending } from "@/data/queries";
import { plural, spendingLabel } from "@/format/amount";
import type { ConfigView } from "@/platform";

import { overridingVariable } from "./configPatch";
import { SettingRow } from "./SettingRow";
import styles from "./Settings.module.css";
import { useSetting, useTypedValue } from "./useSetting";

export function SpendingSection({ config }: { config: ConfigView }) {
  return (
    <Section title="Spending" id="spending">
      <Spent />
      <LimitSetting
        config={config}
        name="budget.tokensPerDay"
        title="Tokens per day"
        help="For all runs together. Later runs that day are skipped. [default: no limit]"
        value={config.budget.tokensPerDay}
      />
      <LimitSetting
        config={config}
        name="budget.usdPerDay"
        title="USD per day"
        help="Models without a known price won’t be used, unless tokens are limited too. [default: no limit]"
        unit="USD"
        value={config.budget.usdPerDay}
      />
      <SettingRow
        title="Prices"
        help={`List prices as of ${config.prices.listedOn}. ${ownPricesText(config.prices.own.length)} Models on this computer cost nothing.`}
      />
    </Section>
  );
}

function ownPricesText(count: number): string {
  return count === 0
    ? "Override them with [prices] in the settings file."
    : `${plural(count, "price")} overridden in the settings file.`;
}

function Spent() {
  const { data } = useSpending();
  if (!data) return null;
  return (
    <SettingRow
      title="Spent"
      help={
        <>
          Today {spendingLabel(data.today)}, this month {spendingLabel(data.month)}. The day resets{" "}
          <Time at={data.dayEndsAtMs} as="within" />.
        </>
      }
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

/** Optional limit; removed if empty. */
function LimitSetting({ config, name, title, help, unit, value }: LimitProps) {
  const { saveState, set } = useSetting(name);
  const overridden = overridingVariable(config, name);
  const [typed, setTyped] = useTypedValue(value ?? NaN);
  const change = (next: number) => {
    setTyped(next);
    const wanted = Number.isNaN(next) ? null : next;
    if (wanted !== value) void set(wanted);
  };
  return (
    <SettingRow title={title} help={help} saveState={saveState} overridden={overridden}>
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
    </SettingRow>
  );
}
