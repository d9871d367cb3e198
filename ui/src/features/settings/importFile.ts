/* Reading a chosen file as text. What it means is the engine's to say. */

/** As much as the engine takes. */
export const mostBytes = 8 * 1024 * 1024;

/** The text of a file; throws with words for the person. A byte that is no text would otherwise become a question mark. */
export async function textOf(file: File): Promise<string> {
  if (file.size > mostBytes) throw new Error("This file is larger than 8 MB.");
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("This file is not UTF-8 text.");
  }
}
