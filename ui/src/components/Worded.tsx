/* The engine's words in a sentence, with what stands between backticks as code: a name, a pattern, a path. A backtick without
   a second one is text. */

export function Worded({ text }: { text: string }) {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));
}
