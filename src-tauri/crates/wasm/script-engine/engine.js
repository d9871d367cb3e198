// The script engine: runs one tool written in JavaScript.
//
// Owns the path from a tool's source and arguments to the JSON text of its result, or to an error text.
// Never keeps anything between calls: the host makes a fresh instance for each call.
// Pitfall: a thrown value that is no well-formed string is a trap in the host instead of an error.

import { errorText, refuse } from "./engine/error_text.js";
import { toScript } from "./engine/export_forms.js";
import { evaluate } from "./engine/globals.js";
import { resultText } from "./engine/result_text.js";

// Strict mode for every tool, on the first line of the source: line numbers stay.
const PREFIX = '"use strict";';

const PROMISE =
  "The tool returned a promise. A tool is synchronous: remove `async` and `await`. " +
  "http() returns the response directly.";
const NO_FUNCTION =
  "The tool has no function `run`. Write `function run(args) { … }` or export a function.";

/** The export of the world: the result as JSON text; throws an error text. */
export function run(source, argumentsJson) {
  try {
    const tool = loadTool(source);
    const result = tool(readArguments(argumentsJson));
    if (result instanceof Promise) {
      refuse(PROMISE);
    }
    return resultText(result);
  } catch (error) {
    throw errorText(error, source, PREFIX.length);
  }
}

function loadTool(source) {
  const { text, entry } = toScript(source);
  // The last expression reads the function from the scope of the tool.
  const end = `\n;typeof ${entry} === "undefined" ? undefined : ${entry};`;
  const tool = evaluate(`${PREFIX}${text}${end}`);
  if (typeof tool !== "function") {
    refuse(NO_FUNCTION);
  }
  return tool;
}

function readArguments(argumentsJson) {
  try {
    return JSON.parse(argumentsJson);
  } catch (error) {
    refuse(`The arguments are not JSON: ${error.message}.`);
  }
}
