/* The engine's words in a sentence, with what stands between backticks as code: a name, a pattern, a path. A backtick without
   a second one is text. What cannot be seen in a name stands out by its mark. */

import { Marks } from "./Marks";

export function Worded({ text }: { text: string }) {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? <code key={i}><Marks text={part} /></code> : <Marks key={i} text={part} />));
}
