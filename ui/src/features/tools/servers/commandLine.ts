/* Command lines: words of a typed line, and the line of a command. Reads quotes and escapes as a POSIX shell does, but
   expands nothing except a leading `~/`. Pitfall: a backslash is part of a Windows path, so it escapes only blanks,
   quotes and itself. */

/** Words of a command line; undefined if a quote has no end. */
export function splitCommandLine(line: string, home: string | undefined): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  const text = line.replace(/\\\r?\n/g, " ");
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    const next = text.charAt(at + 1);
    if (quote !== "'" && character === "\\" && (quote === undefined ? /[\s"'\\]/ : /["\\$`]/).test(next)) {
      word = (word ?? "") + next;
      at += 1;
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === "~" && word === undefined && /^([\\/\s]|$)/.test(next)) word = home ?? "~";
    else word = (word ?? "") + character;
  }
  if (quote !== undefined) return undefined;
  return word === undefined ? words : [...words, word];
}

/** Splits variables before the program off, as in `TOKEN=x server`. */
export function withoutVariables(words: readonly string[]): { variables: Record<string, string>; words: string[] } {
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const count = first === -1 ? words.length : first;
  const variables = words.slice(0, count).map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)] as const;
  });
  return { variables: Object.fromEntries(variables), words: words.slice(count) };
}

/** The words as one line: each word that is more than plain characters is quoted, so that its end is visible. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

/** Quotes as the engine does. */
function quoteWord(word: string): string {
  const isPlain = /^[A-Za-z0-9_\-./:=,@%+~]+$/.test(word) && !word.startsWith("~");
  return isPlain ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
