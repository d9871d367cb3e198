/* Shortens text to a line. */

/** First line of a text without Markdown syntax. */
export function firstLine(text: string, most = 200): string {
  const line =
    text
      .split(/\r?\n/)
      .map((l) => l.trim())
      .find((l) => l !== "" && !/^([-*_=~`]{3,}|```.*)$/.test(l)) ?? "";
  const plain = line
    .replace(/^#{1,6}\s+/, "")
    .replace(/^[-*+]\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|`)/g, "");
  return plain.length > most ? `${plain.slice(0, most).trimEnd()}…` : plain;
}

/** First line of a text, unchanged, with `…` if cut. */
export function firstLineRaw(text: string, most = 160): string {
  const whole = text.trim();
  const line = (whole.split(/\r?\n/, 1)[0] ?? "").trimEnd();
  return line.length > most ? `${line.slice(0, most).trimEnd()}…` : line.length < whole.length ? `${line}…` : line;
}

/** Adds a full stop unless the text ends with punctuation. */
export function withFullStop(text: string): string {
  return /[.!?…][”’"]?$/.test(text) ? text : `${text}.`;
}

/** Message of the engine as a sentence: `is required` → `This is required.` */
export function toSentence(message: string): string {
  const text = /^(is|must|needs|has) /.test(message) ? `this ${message}` : message;
  return withFullStop(text.charAt(0).toLocaleUpperCase() + text.slice(1));
}

/** Error without trailing lines that repeat the end of the first line. */
export function withoutRepeatedEnd(error: string): string {
  const [head = "", ...rest] = error.split("\n");
  const again = rest.join("\n").trim();
  return again !== "" && head.endsWith(again) ? head : error;
}

/** `url: https://…, method: GET`. */
export function argumentsLine(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null) return "";
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
