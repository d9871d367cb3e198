// The globals of a tool.
//
// Owns what a tool sees besides the language: adds the host's calls, a clock and randomness; removes what the builder
// leaks, what would trap without WASI, what never runs without an event loop, and every way from text to code.
// Never a boundary of security: that is the host with its imports. Pitfall: CallSite.getFunction() hands out the
// function of any frame, `eval` among them, so Error.prepareStackTrace is locked.

import clock from "rouse:tool/clock";
import random from "rouse:tool/random";

import { console, files, http } from "./host_calls.js";
import { structuredClone } from "./result_text.js";
import { TextDecoder, TextEncoder } from "./utf8.js";

/** Evaluates text as a script. No tool can reach it. */
export const evaluate = globalThis.eval;

const SystemDate = globalThis.Date;
const RANDOM_BYTES = 512;
const LEAKED = ["__cqjs", "wit"];
const UNUSABLE = ["performance", "queueMicrotask"];

let pool = new DataView(new ArrayBuffer(0));
let used = 0;

/** A number in [0, 1) of 53 random bits. */
function randomNumber() {
  if (used + 8 > pool.byteLength) {
    const bytes = Uint8Array.from(random.bytes(RANDOM_BYTES));
    pool = new DataView(bytes.buffer);
    used = 0;
  }
  const high = pool.getUint32(used) >>> 5;
  const low = pool.getUint32(used + 4) >>> 6;
  used += 8;
  return (high * 2 ** 26 + low) / 2 ** 53;
}

function now() {
  return Number(clock.nowMs());
}

/** The Date of the language, over the host's clock. */
function ToolDate(...values) {
  if (new.target === undefined) {
    return new SystemDate(now()).toString();
  }
  const instant = values.length === 0 ? [now()] : values;
  return Reflect.construct(SystemDate, instant, new.target);
}

function replaceDate() {
  for (const name of ["UTC", "parse"]) {
    define(ToolDate, name, SystemDate[name]);
  }
  define(ToolDate, "now", now);
  define(ToolDate, "name", "Date");
  define(ToolDate, "length", 7);
  ToolDate.prototype = SystemDate.prototype;
  define(SystemDate.prototype, "constructor", ToolDate);
  define(globalThis, "Date", ToolDate);
}

function refuseCode() {
  throw new EvalError("A tool cannot make code from text");
}

function removeCodeFromText() {
  // Keeps `instanceof Function` and `.constructor === Function` alive.
  const functions = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const prototype of functions.map(Object.getPrototypeOf)) {
    lock(prototype, "constructor", refuseCode);
  }
  refuseCode.prototype = Function.prototype;
  define(globalThis, "Function", refuseCode);
  define(globalThis, "eval", () => refuseCode());
  lock(Error, "prepareStackTrace", undefined);
}

function define(target, name, value) {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function lock(target, name, value) {
  Object.defineProperty(target, name, { value, writable: false, configurable: false });
}

for (const name of [...LEAKED, ...UNUSABLE]) {
  delete globalThis[name];
}
replaceDate();
define(Math, "random", randomNumber);
removeCodeFromText();
// No job of a promise ever runs, so waiting for one would end without a word.
for (const name of ["then", "catch", "finally"]) {
  define(Promise.prototype, name, () => {
    throw new TypeError("Promises never settle in a tool. Write synchronous code");
  });
}
const added = { TextDecoder, TextEncoder, console, files, http, structuredClone };
for (const name of Object.keys(added)) {
  define(globalThis, name, added[name]);
}
