/* Parses durations with the engine's grammar, and rejects what the engine rejects. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;

const units = new Map([
  ...unitNames(1, "ms", "msec", "msecs", "millisecond", "milliseconds"),
  ...unitNames(second, "s", "sec", "secs", "second", "seconds"),
  ...unitNames(minute, "m", "min", "mins", "minute", "minutes"),
  ...unitNames(hour, "h", "hr", "hrs", "hour", "hours"),
  ...unitNames(day, "d", "day", "days"),
  ...unitNames(week, "w", "wk", "wks", "week", "weeks"),
]);

function unitNames(ms: number, ...names: string[]): [string, number][] {
  return names.map((name) => [name, ms]);
}

type Part = [number: string, unit: number];

/** `1h30m`, `20 min`, `1 hour, 5 minutes`, `PT1H30M`; undefined for other text. */
export function parseDuration(written: string): number | undefined {
  const text = written.trim().toLowerCase();
  const parts = /^p[t\d]/.test(text) ? parseIso(text.slice(1)) : parseFriendly(text);
  return parts && sumParts(parts);
}

function parseFriendly(text: string): Part[] | undefined {
  const part = /(\d+(?:\.\d+)?)\s*([a-z]+)/y;
  const between = /\s*(?:, )?\s*(?:and )?\s*/y;
  const parts: Part[] = [];
  while (part.lastIndex < text.length) {
    const [, number, name] = part.exec(text) ?? [];
    const unit = units.get(name ?? "");
    if (number === undefined || unit === undefined) return undefined;
    parts.push([number, unit]);
    between.lastIndex = part.lastIndex;
    const gap = between.exec(text)?.[0].length ?? 0;
    part.lastIndex += gap;
    if (gap > 0 && part.lastIndex === text.length) return undefined;
  }
  return parts;
}

function parseIso(text: string): Part[] | undefined {
  const found = /^(?:([\d.]+)w)?(?:([\d.]+)d)?(?:t(?=\d)(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?)?$/.exec(text);
  const numbers: (string | undefined)[] = found?.slice(1) ?? [];
  if (numbers.some((number) => number !== undefined && !/^\d+(\.\d+)?$/.test(number))) return undefined;
  return numbers.flatMap((number, i): Part[] =>
    number === undefined ? [] : [[number, [week, day, hour, minute, second][i] ?? 0]],
  );
}

/** Units descend, each once; only the last may have a fraction. */
function sumParts(parts: Part[]): number | undefined {
  const isInOrder = parts.every(([, unit], i) => i === 0 || unit < (parts[i - 1]?.[1] ?? 0));
  const isFractionLast = parts.every(([number], i) => !number.includes(".") || i === parts.length - 1);
  if (!isInOrder || !isFractionLast) return undefined;
  const exact = parts.reduce((sum, [number, unit]) => sum + Number(number) * unit, 0);
  const sum = Math.round(exact);
  return sum > 0 && Number.isSafeInteger(sum) && Math.abs(exact - sum) < 1e-6 ? sum : undefined;
}
