/* Text that somebody else may have written, as it was marked before a model read it. A mark carries a word that the text could
   not know, so only the end with the same word ends it. */

export interface Piece {
  text: string;
  /** What it came through; none for Rouse's own words. */
  through: string | undefined;
}

const marked = /⟦outside ([0-9a-f]{12}) ([^⟧\n]*)⟧\n([\s\S]*?)(?:\n⟦end of outside \1⟧|$)/g;

/** The pieces of a text, in order; empty ones are left out. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(marked)) {
    const [whole, , through, inside = ""] = found;
    pieces.push({ text: text.slice(at, found.index), through: undefined }, { text: inside, through });
    at = found.index + whole.length;
  }
  pieces.push({ text: text.slice(at), through: undefined });
  return pieces.map((piece) => ({ ...piece, text: piece.text.trim() })).filter(({ text: words }) => words !== "");
}
