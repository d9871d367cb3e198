/* Text in which parts between backticks are code. An unpaired backtick is text; invisible characters are marked. */

import { VisibleText } from "./VisibleText";

export function InlineCode({ text }: { text: string }) {
  return text.split(/`([^`\n]+)`/).map((part, i) =>
    i % 2 === 1 ? (
      <code key={i}>
        <VisibleText text={part} />
      </code>
    ) : (
      <VisibleText key={i} text={part} />
    ),
  );
}
