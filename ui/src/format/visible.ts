/* Text that a person decides on, with everything in it to be seen, as the engine's previews show it: what a terminal would obey,
   what turns the reading direction around and what takes no room is shown by its number, `⟨U+202E⟩`. Nothing is taken out
   and nothing is cut off. One could get it wrong by a list of the characters that come to mind; here what is not known to be
   visible is shown by its number. */

/** Controls, formats, unassigned ones and blanks that are not the plain one; and letters, marks and symbols that are empty on the screen. */
const unseen = /(?![ \n\t])[\p{C}\p{Z}\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u2800\u3164\uFE00-\uFE0F\uFFA0\u{E0100}-\u{E01EF}]/gu;

/** `text` with all that cannot be seen shown by its number. Line feeds and tabs stay. Marks that it has already stay, too. */
export function visible(text: string): string {
  return text.replace(unseen, numbered);
}

/** The same of a text that has no marks yet, so that no text looks like another: the sign that a mark begins with is shown by its
    number, too, and so is one that stands for something else where the text is shown. */
export function unmistakable(text: string, sign?: string): string {
  const whole = text.replaceAll("⟨", numbered);
  return visible(sign === undefined ? whole : whole.replaceAll(sign, numbered));
}

function numbered(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text in parts; odd ones are marks that stand for what cannot be seen: `⟨U+001B⟩`. */
export function marksIn(text: string): string[] {
  return text.split(/(⟨U\+[0-9A-F]{4,6}⟩)/);
}

/** How many marks a text has. */
export function hiddenIn(text: string): number {
  return Math.floor(marksIn(text).length / 2);
}
