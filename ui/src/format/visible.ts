/* Shows invisible characters by code point (`⟨U+202E⟩`), as the engine's previews do. Removes nothing. Pitfall:
   everything that is not known to be visible is escaped; a list of known invisible characters would be incomplete. */

/** Controls, formats, unassigned characters, special blanks, and letters without a glyph. */
const invisible =
  /(?![ \n\t])[\p{C}\p{Z}\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u2800\u3164\uFE00-\uFE0F\uFFA0\u{E0100}-\u{E01EF}]/gu;

/** Escapes invisible characters. Keeps line feeds, tabs and existing marks. */
export function showInvisible(text: string): string {
  return text.replace(invisible, codePointMark);
}

/** Escapes also `⟨`, and `sign` where it stands for something else, so that text cannot imitate a mark. */
export function showUnambiguous(text: string, sign?: string): string {
  const whole = text.replaceAll("⟨", codePointMark);
  return showInvisible(sign === undefined ? whole : whole.replaceAll(sign, codePointMark));
}

function codePointMark(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Splits a text; odd parts are marks: `⟨U+001B⟩`. */
export function splitMarks(text: string): string[] {
  return text.split(/(⟨U\+[0-9A-F]{4,6}⟩)/);
}

export function countInvisible(text: string): number {
  return Math.floor(splitMarks(text).length / 2);
}

/** Escapes also line feeds and tabs, so that text cannot imitate another line. */
export function showOneLine(text: string): string {
  return showUnambiguous(text).replaceAll("\n", codePointMark).replaceAll("\t", codePointMark);
}
