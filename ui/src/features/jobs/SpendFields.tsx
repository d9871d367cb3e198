/* What the job may spend. Without any limit nothing is limited; where one is in dollars alone, a model whose price nobody
   knows is not asked, which is said. */

import { Folded } from "@/components/Folded";
import { plural } from "@/format/amount";

import { NumberOf, useBound } from "./bound";
import styles from "./Editor.module.css";

export function SpendFields() {
  const tokensPerRun = useBound("tokensPerRun");
  const tokensPerDay = useBound("tokensPerDay");
  const usdPerRun = useBound("usdPerRun");
  const usdPerDay = useBound("usdPerDay");
  const isWrong = [tokensPerRun, tokensPerDay, usdPerRun, usdPerDay].some(({ error }) => error !== undefined);
  const parts = [
    tokensPerRun.value !== null && `${plural(tokensPerRun.value, "token")} a run`,
    tokensPerDay.value !== null && `${plural(tokensPerDay.value, "token")} a day`,
    usdPerRun.value !== null && `$${usdPerRun.value} a run`,
    usdPerDay.value !== null && `$${usdPerDay.value} a day`,
  ].filter((part) => part !== false);
  const inDollarsAlone = (usdPerRun.value !== null && tokensPerRun.value === null) || (usdPerDay.value !== null && tokensPerDay.value === null);
  return (
    <Folded key={String(isWrong)} title="What it may spend" summary={parts.length === 0 ? "no limit of its own" : `at most ${parts.join(", ")}`} defaultExpanded={isWrong}>
      <div className={styles.fields}>
        <div className={styles.pair}>
          <NumberOf name="tokensPerRun" label="Most tokens of a run" least={1} placeholder="None of its own" help="The run then ends with what it has." />
          <NumberOf name="tokensPerDay" label="Most tokens of a day" least={1} placeholder="None of its own" help="Later runs of that day are skipped." />
        </div>
        <div className={styles.pair}>
          <NumberOf name="usdPerRun" label="Most dollars of a run" unit="USD" digits={6} placeholder="None of its own" />
          <NumberOf name="usdPerDay" label="Most dollars of a day" unit="USD" digits={6} placeholder="None of its own" />
        </div>
        {inDollarsAlone && <p className={styles.hint}>A model whose price is not known is not asked then. Give a limit in tokens beside it, or its price in the settings file.</p>}
      </div>
    </Folded>
  );
}
