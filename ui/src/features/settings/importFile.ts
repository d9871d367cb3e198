/* Reads a chosen file as text. */

/** Limit of the engine. */
export const maxBytes = 8 * 1024 * 1024;

/** Text of a file; throws a readable error. Strict decoding, so that no byte becomes a replacement character. */
export async function readTextFile(file: File): Promise<string> {
  if (file.size > maxBytes) throw new Error("This file is larger than 8 MB.");
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("This file is not UTF-8 text.");
  }
}
