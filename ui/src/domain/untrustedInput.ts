/* Splits model input at its untrusted fences. A fence ends only at the same random word. */

export interface TextSegment {
  text: string;
  /** Source of untrusted text; undefined for Rouse's own text. */
  source: string | undefined;
}

const marked = /⟦outside ([0-9a-f]{12}) ([^⟧\n]*)⟧\n([\s\S]*?)(?:\n⟦end of outside \1⟧|$)/g;

/** Non-empty segments in order. */
export function splitUntrusted(text: string): TextSegment[] {
  const pieces: TextSegment[] = [];
  let at = 0;
  for (const found of text.matchAll(marked)) {
    const [whole, , through, inside = ""] = found;
    pieces.push({ text: text.slice(at, found.index), source: undefined }, { text: inside, source: through });
    at = found.index + whole.length;
  }
  pieces.push({ text: text.slice(at), source: undefined });
  return pieces.map((piece) => ({ ...piece, text: piece.text.trim() })).filter(({ text: words }) => words !== "");
}
