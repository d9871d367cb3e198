/* Budget per run and per day. */

import { Collapsible } from "@/components/Collapsible";
import { plural } from "@/format/amount";

import { JobNumberField, useJobField } from "./jobFields";
import styles from "./JobEditor.module.css";

export function BudgetFields() {
  const tokensPerRun = useJobField("tokensPerRun");
  const tokensPerDay = useJobField("tokensPerDay");
  const usdPerRun = useJobField("usdPerRun");
  const usdPerDay = useJobField("usdPerDay");
  const isWrong = [tokensPerRun, tokensPerDay, usdPerRun, usdPerDay].some(({ error }) => error !== undefined);
  const parts = [
    tokensPerRun.value !== null && `${plural(tokensPerRun.value, "token")} per run`,
    tokensPerDay.value !== null && `${plural(tokensPerDay.value, "token")} per day`,
    usdPerRun.value !== null && `$${usdPerRun.value} per run`,
    usdPerDay.value !== null && `$${usdPerDay.value} per day`,
  ].filter((part) => part !== false);
  const inDollarsAlone =
    (usdPerRun.value !== null && tokensPerRun.value === null) ||
    (usdPerDay.value !== null && tokensPerDay.value === null);
  return (
    <Collapsible
      key={String(isWrong)}
      title="Budget"
      summary={parts.length === 0 ? "no limit" : parts.join(", ")}
      defaultExpanded={isWrong}
    >
      <div className={styles.fields}>
        <div className={styles.pair}>
          <JobNumberField
            name="tokensPerRun"
            label="Tokens per run"
            least={1}
            placeholder="No limit"
            help="The run ends with what it has so far."
          />
          <JobNumberField
            name="tokensPerDay"
            label="Tokens per day"
            least={1}
            placeholder="No limit"
            help="Later runs that day are skipped."
          />
        </div>
        <div className={styles.pair}>
          <JobNumberField name="usdPerRun" label="USD per run" unit="USD" digits={6} placeholder="No limit" />
          <JobNumberField name="usdPerDay" label="USD per day" unit="USD" digits={6} placeholder="No limit" />
        </div>
        {inDollarsAlone && (
          <p className={styles.hint}>
            Models without a known price won’t be used. Add a token limit, or set a price in the settings file.
          </p>
        )}
      </div>
    </Collapsible>
  );
}
