// The JSON text of a result.
//
// Owns the values that a tool can return. Refuses what JSON.stringify drops or mangles without a word: functions,
// symbols, promises, maps, sets and bytes. Pitfall: `undefined` inside of objects is dropped, as everywhere.

import { refuse } from "./error_text.js";

const stringify = JSON.stringify;
const TypedArray = Object.getPrototypeOf(Uint8Array);

/** The JSON text of a tool's result. `undefined` is null. */
export function resultText(value) {
  const text = jsonText(value, "The result", refuse) ?? "null";
  return text.includes("\\ud") ? replaceLoneSurrogates(text) : text;
}

/** A deep copy by way of JSON. */
export function structuredClone(value) {
  const text = jsonText(value, "The value of structuredClone()", throwTypeError);
  return text === undefined ? undefined : JSON.parse(text);
}

/** JSON.stringify escapes them, and many readers of JSON refuse the escapes. */
function replaceLoneSurrogates(text) {
  return text.replace(/\\(?:u(d[89a-f])..|[^])/g, (escape, isSurrogate) =>
    isSurrogate ? "\ufffd" : escape,
  );
}

function jsonText(value, subject, fail) {
  try {
    return stringify(value, (key, item) => {
      const problem = problemOf(item);
      if (problem) {
        fail(
          `${subject} has ${problem.what}${key === "" ? "" : ` at \`${key}\``}. ${problem.advice}`,
        );
      }
      return item;
    });
  } catch (error) {
    if (error instanceof TypeError && error.message === "circular reference") {
      fail(`${subject} contains itself. Use plain data without cycles.`);
    }
    throw error;
  }
}

function problemOf(item) {
  const kind = typeof item;
  if (kind === "function" || kind === "symbol") {
    return { what: `a ${kind}`, advice: "JSON has no such value." };
  }
  if (kind === "bigint") {
    return { what: "a BigInt", advice: "Convert it with Number() or String()." };
  }
  if (kind !== "object" || item === null) {
    return undefined;
  }
  if (item instanceof Promise) {
    return { what: "a promise", advice: "Asynchronous code is not supported." };
  }
  if (item instanceof Map) {
    return { what: "a Map", advice: "Convert it with Object.fromEntries()." };
  }
  if (item instanceof Set || item instanceof TypedArray) {
    return { what: `a ${item.constructor.name}`, advice: "Convert it with Array.from()." };
  }
  return undefined;
}

function throwTypeError(sentence) {
  throw new TypeError(sentence);
}
