/* Texts from outside, made fit for one line. */

/** The first sentence or line of a text, without Markdown's marks, for rows and titles. */
export function firstLine(text: string, most = 200): string {
  const line = text.split(/\r?\n/).map((l) => l.trim()).find((l) => l !== "" && !/^([-*_=~`]{3,}|```.*)$/.test(l)) ?? "";
  const plain = line
    .replace(/^#{1,6}\s+/, "")
    .replace(/^[-*+]\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|`)/g, "");
  return plain.length > most ? `${plain.slice(0, most).trimEnd()}…` : plain;
}

/** The first line of a text as it is, and that there is more. */
export function opening(text: string, most = 160): string {
  const whole = text.trim();
  const line = (whole.split(/\r?\n/, 1)[0] ?? "").trimEnd();
  return line.length > most ? `${line.slice(0, most).trimEnd()}…` : line.length < whole.length ? `${line}…` : line;
}

/** Words with one full stop at their end: what they end with, a name or another sentence, may have brought its own. */
export function ended(text: string): string {
  return /[.!?…][”’"]?$/.test(text) ? text : `${text}.`;
}

/** What went wrong, without a rest that only says again what its first line ends with: a command's only line is its last as well. */
export function withoutEcho(error: string): string {
  const [head = "", ...rest] = error.split("\n");
  const again = rest.join("\n").trim();
  return again !== "" && head.endsWith(again) ? head : error;
}

/** Arguments on one line: `url: https://…, method: GET`. */
export function argumentsLine(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null) return "";
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
