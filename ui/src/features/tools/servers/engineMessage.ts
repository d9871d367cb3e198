/* Remedies of the engine in the words of the dialogs. A message about a package or a secret names flags and commands of
   the command line. */

const flags: readonly (readonly [RegExp, string])[] = [
  [/^--config (\S+): /, "Setting $1: "],
  [/\b([Ww]rite) --config /g, "$1 "],
  [/Choose one with --program NAME\./, "Enter a program under Advanced."],
  [/write the program and its arguments after --\./, "write the program with arguments."],
  [
    /Store it as a secret: rouse secrets set \S+ --server \S+\. Then write (.+)\.$/,
    "Write $1. The next page asks for the value.",
  ],
];

/** Message without flags, which no dialog has. */
export function withoutFlags(message: string): string {
  return flags.reduce((text, [flag, words]) => text.replace(flag, words), message);
}
