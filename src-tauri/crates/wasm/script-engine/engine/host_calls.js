// The tool's calls of the host: http(), files, console.
//
// Owns the JavaScript shape of the imports, and the checks of arguments. Never judges permissions: the host does.
// Pitfall: an import called with a value of the wrong type is a trap, so every value is converted here.

import hostFiles from "rouse:tool/files";
import hostHttp from "rouse:tool/http";
import hostLog from "rouse:tool/log";

import { asBytes, decodeUtf8, encodeUtf8 } from "./utf8.js";

const REQUEST_KEYS = ["method", "url", "headers", "body"];

class Response {
  #bytes;
  #address;

  constructor(answer, address) {
    this.status = answer.status;
    this.headers = joinHeaders(answer.headers);
    this.#bytes = asBytes(answer.body) ?? Uint8Array.from(answer.body);
    this.#address = address;
  }

  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  get body() {
    return decodeUtf8(this.#bytes);
  }

  bytes() {
    return this.#bytes.slice();
  }

  json() {
    const text = this.body;
    try {
      return JSON.parse(text);
    } catch (error) {
      const start = JSON.stringify(text.slice(0, 60));
      throw new Error(
        `${this.#address} answered ${this.status} without JSON (${error.message}): ${start}`,
      );
    }
  }

  toJSON() {
    return { status: this.status, headers: this.headers, body: this.body };
  }
}

/** One HTTP exchange. Throws an Error with the host's sentence. */
export function http(request, options) {
  const { method = "GET", url, headers = {}, body } = readRequest(request, options);
  const prepared = {
    method: hostText(method).toUpperCase(),
    url: hostText(url),
    headers: headerPairs(headers),
    body: body === undefined || body === null ? null : contentBytes(body, "The body of http()"),
  };
  const answer = callHost(() => hostHttp.send(prepared));
  return new Response(answer, `${prepared.method} ${prepared.url}`);
}

export const files = {
  read(path) {
    return decodeUtf8(files.readBytes(path));
  },
  readBytes(path) {
    const name = pathText(path);
    const content = callHost(() => hostFiles.read(name));
    return asBytes(content) ?? Uint8Array.from(content);
  },
  write(path, content) {
    const name = pathText(path);
    const bytes = contentBytes(content, "The content of files.write()");
    callHost(() => hostFiles.write(name, bytes));
  },
};

export const console = {
  log: (...values) => writeLog("info", values),
  info: (...values) => writeLog("info", values),
  warn: (...values) => writeLog("warn", values),
  error: (...values) => writeLog("error", values),
  debug: (...values) => writeLog("debug", values),
};

/** The request of `http(request)` or `http(url, options)`. */
function readRequest(request, options) {
  if (typeof request === "string") {
    return readRequest({ ...options, url: request });
  }
  if (options !== undefined) {
    throw new TypeError("http() takes an address with options, or one object with `url`");
  }
  if (typeof request !== "object" || request === null || typeof request.url !== "string") {
    throw new TypeError("http() needs an address, or an object with `url`");
  }
  const unknown = Object.keys(request).find((key) => !REQUEST_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(`http() does not know \`${unknown}\`. Use method, url, headers and body`);
  }
  return request;
}

function headerPairs(headers) {
  const isPlain = typeof headers === "object" && headers !== null && !Array.isArray(headers);
  if (!isPlain) {
    throw new TypeError("The headers of http() are an object of names and values");
  }
  return Object.entries(headers)
    .filter(([, value]) => value !== undefined && value !== null)
    .flatMap(([name, value]) => [value].flat().map((one) => [hostText(name), hostText(one)]));
}

/** Headers by lower-case name. Values of a repeated name are joined by a comma. */
function joinHeaders(pairs) {
  const joined = {};
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    joined[key] = Object.hasOwn(joined, key) ? `${joined[key]}, ${value}` : value;
  }
  return joined;
}

function contentBytes(content, subject) {
  if (typeof content === "string") {
    return encodeUtf8(content);
  }
  const bytes = asBytes(content);
  if (!bytes) {
    throw new TypeError(`${subject} must be text or bytes. Use JSON.stringify() for data`);
  }
  return bytes;
}

function pathText(path) {
  if (typeof path !== "string") {
    throw new TypeError("The path of a file must be text");
  }
  return hostText(path);
}

function writeLog(level, values) {
  hostLog.write(level, values.map(logText).join(" ").toWellFormed());
}

function logText(value) {
  if (typeof value === "string") {
    return value;
  }
  try {
    const isData = typeof value === "object" && !(value instanceof Error);
    return (isData ? JSON.stringify(value) : undefined) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** Text without lone surrogates, which the host cannot read. */
function hostText(value) {
  return String(value).toWellFormed();
}

function callHost(call) {
  try {
    return call();
  } catch (error) {
    throw new Error(String(error.payload ?? error));
  }
}
