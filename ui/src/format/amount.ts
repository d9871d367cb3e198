/* Formats durations, money, sizes and counts. */

/** `340 ms`, `4.2 s`, `48 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 0) return duration(0);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${trim((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pair(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return pair(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** Duration for a sentence: `15 minutes`, `1 hour`, `90 seconds`. */
export function durationWords(ms: number): string {
  const units = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 1000],
  ] as const;
  const [unit, size] = units.find(([, candidate]) => ms >= candidate && ms % candidate === 0) ?? ["millisecond", 1];
  const count = ms / size;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Money from micro-dollars; null is `unknown`, never zero. */
export function money(microUsd: number | null | undefined): string {
  if (microUsd === null || microUsd === undefined) return "unknown";
  if (microUsd === 0) return "$0";
  const usd = microUsd / 1_000_000;
  if (usd < 0.0001) return "< $0.0001";
  if (usd < 0.01) return `$${trim(usd.toFixed(4))}`;
  return `$${usd.toFixed(usd < 1 ? 3 : 2)}`;
}

/** `$1.20, 30.5k tokens`, with a note on tokens without a price. */
export function spendingLabel({
  tokens,
  costMicroUsd,
  unpricedTokens,
}: {
  tokens: number;
  costMicroUsd: number;
  unpricedTokens: number;
}): string {
  const all = `${count(tokens)} ${tokens === 1 ? "token" : "tokens"}`;
  if (tokens > 0 && unpricedTokens === tokens) return `${all}, price unknown`;
  return `${money(costMicroUsd)}, ${all}${unpricedTokens > 0 ? `, ${count(unpricedTokens)} of them without a known price` : ""}`;
}

/** `840 bytes`, `12.4 kB`, `3.1 MB`. */
export function bytes(n: number): string {
  if (n < 1000) return plural(n, "byte");
  const units = ["kB", "MB", "GB", "TB"];
  const step = Math.min(Math.floor(Math.log10(n) / 3), units.length);
  const amount = n / 1000 ** step;
  return `${amount < 99.95 ? trim(amount.toFixed(1)) : Math.round(amount)} ${units[step - 1] ?? ""}`;
}

/** `842`, `12.4k`, `3.1M`. */
export function count(n: number): string {
  if (n < 1000) return String(n);
  if (n < 99_950) return `${trim((n / 1000).toFixed(1))}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${trim((n / 1_000_000).toFixed(1))}M`;
}

/** `1 run`, `2 runs`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

function pair(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

function trim(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}
