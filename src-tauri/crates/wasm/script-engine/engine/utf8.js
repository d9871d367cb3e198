// Text as UTF-8.
//
// Owns the conversions, and the classes TextEncoder and TextDecoder. The fast way is native code of the engine:
// Base64, escape() and decodeURIComponent(). Pitfall: a loop takes 0.3 µs and 4,000 units of fuel per byte, so it
// decodes only chunks with invalid bytes.

const CHUNK = 32_768;
// Arguments of a call lie on the stack.
const MAX_ARGUMENTS = 1024;
const { atob, btoa, escape, unescape, encodeURIComponent, decodeURIComponent } = globalThis;

/** Lone surrogates become U+FFFD. */
export function encodeUtf8(text) {
  const isAscii = !/[^\x00-\x7f]/.test(text);
  const binary = isAscii ? text : unescape(encodeURIComponent(text.toWellFormed()));
  return Uint8Array.fromBase64(btoa(binary));
}

/** Invalid bytes become U+FFFD, or what `onInvalid` makes of them. */
export function decodeUtf8(bytes, onInvalid = decodeLossy) {
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
  // A character has at most as many code units as bytes.
  const { length } = bytes;
  const units = new Uint16Array(length);
  let count = 0;
  let at = 0;
  while (at < length) {
    const first = bytes[at];
    at += 1;
    if (first < 0xc2 || first > 0xf4) {
      units[count++] = first < 0x80 ? first : 0xfffd;
      continue;
    }
    const following = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    // After four first bytes, the second byte has a smaller range.
    let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    let code = first & (0x3f >> following);
    let missing = following;
    while (missing > 0 && bytes[at] >= low && bytes[at] <= high) {
      code = (code << 6) | (bytes[at] & 0x3f);
      low = 0x80;
      high = 0xbf;
      missing -= 1;
      at += 1;
    }
    if (missing > 0) {
      code = 0xfffd;
    }
    if (code > 0xffff) {
      units[count++] = 0xd7c0 + (code >> 10);
      code = 0xdc00 | (code & 0x3ff);
    }
    units[count++] = code;
  }
  return textOf(units.subarray(0, count));
}

function textOf(units) {
  const parts = [];
  for (let start = 0; start < units.length; start += MAX_ARGUMENTS) {
    const part = units.subarray(start, start + MAX_ARGUMENTS);
    // A spread of the units would take ten times longer.
    parts.push(String.fromCharCode.apply(undefined, part));
  }
  return parts.join("");
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
    const bytes = asBytes(input);
    if (!bytes) {
      throw new TypeError("TextDecoder.decode() needs bytes");
    }
    const text = decodeUtf8(bytes, this.#isFatal ? refuseInvalid : decodeLossy);
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
