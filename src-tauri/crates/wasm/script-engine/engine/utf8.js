// Text as UTF-8.
//
// Owns the conversions, and the classes TextEncoder and TextDecoder. The fast way is native code of the engine:
// Base64, escape() and decodeURIComponent(). Pitfall: a loop over bytes takes 0.1 µs per byte, so 5 MB take 0.5 s.

const CHUNK = 32_768;
const SECOND_BYTE = {
  0xe0: [0xa0, 0xbf],
  0xed: [0x80, 0x9f],
  0xf0: [0x90, 0xbf],
  0xf4: [0x80, 0x8f],
};
const { atob, btoa, escape, unescape, encodeURIComponent, decodeURIComponent } = globalThis;

/** Lone surrogates become U+FFFD. */
export function encodeUtf8(text) {
  const isAscii = !/[^\x00-\x7f]/.test(text);
  const binary = isAscii ? text : unescape(encodeURIComponent(text.toWellFormed()));
  return Uint8Array.fromBase64(btoa(binary));
}

/** Invalid bytes become U+FFFD. */
export function decodeUtf8(bytes) {
  return decode(bytes, decodeLossy);
}

function decode(bytes, onInvalid) {
  const parts = [];
  for (let start = 0; start < bytes.length;) {
    const end = chunkEnd(bytes, start);
    const chunk = bytes.subarray(start, end);
    const binary = atob(chunk.toBase64());
    parts.push(/[\x80-\xff]/.test(binary) ? (decodeBinary(binary) ?? onInvalid(chunk)) : binary);
    start = end;
  }
  return parts.join("");
}

/** The end of a chunk, before a character that would be cut. */
function chunkEnd(bytes, start) {
  const limit = start + CHUNK;
  if (limit >= bytes.length) {
    return bytes.length;
  }
  let end = limit;
  while (end > limit - 4 && (bytes[end] & 0xc0) === 0x80) {
    end -= 1;
  }
  return end;
}

function decodeBinary(binary) {
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return undefined;
  }
}

/** The decoder of the Encoding Standard: U+FFFD for each maximal invalid part. */
function decodeLossy(bytes) {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at];
    const length = sequenceLength(first);
    let code = length === 1 ? first : first & (0x7f >> length);
    let read = 1;
    while (read < length && canFollow(first, read, bytes[at + read])) {
      code = (code << 6) | (bytes[at + read] & 0x3f);
      read += 1;
    }
    text += read === length ? String.fromCodePoint(code) : "\ufffd";
    at += read;
  }
  return text;
}

/** The number of bytes of a character by its first byte; 0 for a byte that begins none. */
function sequenceLength(first) {
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xc2 || first > 0xf4) {
    return 0;
  }
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** Whether a byte continues a character. After four first bytes, the second has a smaller range. */
function canFollow(first, index, byte) {
  const range = index === 1 ? SECOND_BYTE[first] : undefined;
  const [low, high] = range ?? [0x80, 0xbf];
  return byte >= low && byte <= high;
}

export class TextEncoder {
  encode(text = "") {
    return encodeUtf8(String(text));
  }
}

export class TextDecoder {
  #isFatal;
  #keepsBom;

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^utf-?8$/i.test(String(label).trim())) {
      throw new RangeError(`TextDecoder knows only utf-8, not ${label}`);
    }
    this.#isFatal = Boolean(fatal);
    this.#keepsBom = Boolean(ignoreBOM);
  }

  decode(input = new Uint8Array()) {
    const refuseInvalid = () => {
      throw new TypeError("The bytes are not valid UTF-8");
    };
    const text = decode(bytesOf(input), this.#isFatal ? refuseInvalid : decodeLossy);
    return !this.#keepsBom && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

/** The bytes of a buffer or a view of it; undefined for any other value. */
export function asBytes(value) {
  if (value instanceof Uint8Array) {
    return value;
  }
  if (value instanceof ArrayBuffer) {
    return new Uint8Array(value);
  }
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : undefined;
}

function bytesOf(input) {
  const bytes = asBytes(input);
  if (!bytes) {
    throw new TypeError("TextDecoder.decode() needs bytes");
  }
  return bytes;
}
