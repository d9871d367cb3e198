// The text of an error, for the author of a tool.
//
// Owns the words, the position in the tool's own source and the limit of 4 KB.
// Never shows frames of the engine. Pitfall: a thrown value can be anything, with getters that throw.

import { decodeUtf8, encodeUtf8 } from "./utf8.js";

const MAX_BYTES = 4096;
// QuickJS calls evaluated text `<input>`. A syntax error has a frame without parentheses.
const SYNTAX_FRAME = /^\s*at <input>:(\d+):(\d+)\n\s*at eval \(native\)\n/;
const CALL_FRAME = /\(<input>:(\d+):(\d+)\)/;

const ASYNC_HINT = "Asynchronous code is not supported; write synchronous code.";
const MODULE_HINT = "A tool is one file without modules.";
// What to use instead of a global of other engines.
const HINTS = {
  Buffer: "Use Uint8Array, TextEncoder and TextDecoder.",
  Intl: "Format the text yourself.",
  URL: "Compose the address as text, with encodeURIComponent().",
  URLSearchParams: "Compose the query as text, with encodeURIComponent().",
  XMLHttpRequest: "Use http().",
  exports: MODULE_HINT,
  fetch: "Use http().",
  module: MODULE_HINT,
  performance: "Use Date.now().",
  process: "A tool has no process; use the arguments.",
  queueMicrotask: ASYNC_HINT,
  require: MODULE_HINT,
  setInterval: ASYNC_HINT,
  setTimeout: ASYNC_HINT,
};

/** An error of the engine, without a position. */
class Refusal extends Error {}

/** Ends the call with a sentence for the author. */
export function refuse(sentence) {
  throw new Refusal(sentence);
}

/** The text of anything thrown. `prefixLength` is what stands before the source on line 1. */
export function errorText(error, source, prefixLength) {
  try {
    return limitBytes(describe(error, source, prefixLength).toWellFormed());
  } catch {
    return "The tool threw a value that cannot be shown.";
  }
}

function describe(error, source, prefixLength) {
  if (error instanceof Refusal) {
    return error.message;
  }
  if (!(error instanceof Error)) {
    const text = typeof error === "object" ? JSON.stringify(error) : String(error);
    return `The tool threw: ${text}`;
  }
  const name = error.name === "Error" ? "" : `${error.name}: `;
  const position = positionOf(error, source, prefixLength);
  const missing = /^(\w+) is not defined$/.exec(error.message)?.[1];
  const hint = Object.hasOwn(HINTS, missing) ? `. ${HINTS[missing]}` : "";
  return `${name}${error.message}${position}${hint}`;
}

function positionOf(error, source, prefixLength) {
  const stack = String(error.stack);
  const syntax = SYNTAX_FRAME.exec(stack);
  const [, lineText, columnText] = syntax ?? CALL_FRAME.exec(stack) ?? [];
  const line = Number(lineText);
  if (line > source.split("\n").length) {
    // QuickJS sometimes names the last expression, which the engine has added.
    return syntax ? " (at the end of the source)" : "";
  }
  const column = Number(columnText) - (line === 1 ? prefixLength : 0);
  return lineText ? ` (line ${line}, column ${Math.max(column, 1)})` : "";
}

function limitBytes(text) {
  const bytes = encodeUtf8(text.slice(0, MAX_BYTES));
  if (bytes.length <= MAX_BYTES && text.length <= MAX_BYTES) {
    return text;
  }
  let end = MAX_BYTES - 3;
  while ((bytes[end] & 0xc0) === 0x80) {
    end -= 1;
  }
  return `${decodeUtf8(bytes.subarray(0, end))}…`;
}
