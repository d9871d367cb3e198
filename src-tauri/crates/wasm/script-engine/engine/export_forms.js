// Module text as a script.
//
// Owns the accepted forms of `export`. Each keyword becomes text of the same length, so lines and columns stay.
// Never judges the rest of the source: QuickJS does, and a misread source ends as a syntax error.
// Pitfall: a keyword inside a string, a template, a comment or a regular expression is no export.

import { refuse } from "./error_text.js";

const WORD_BEFORE_REGEX =
  /^(?:return|typeof|case|in|of|delete|void|throw|new|instanceof|else|do|yield|await)$/;

// In order: space, comment, string, word or number, `++` and `--`, any other character.
const TOKEN = new RegExp(
  [
    /\s+/,
    /\/\/[^\n]*|\/\*[^]*?\*\//,
    /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/,
    /[\w$\u0080-\uffff]+/,
    /\+\+|--/,
    /[^]/,
  ]
    .map((part) => part.source)
    .join("|"),
  "y",
);
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[\w$]*/y;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{)/y;

const DEFAULT = /export\s+default\b/y;
const DEFAULT_DECLARATION =
  /export\s+default\s+(async\s+)?(function|class)\b\s*(\*?)\s*(?!extends\b)([\w$\u0080-\uffff]*)/y;
const DECLARATION = /export(?=\s+(?:async\s+function|function|class|const|let|var)\b)/y;
const LIST = /export\s*\{([^}]*)\}(\s*from\b)?/y;
const LIST_ITEM = /^\s*([\w$\u0080-\uffff]+)(?:\s+as\s+([\w$\u0080-\uffff]+))?\s*$/;
const STATIC_IMPORT = /import\b(?!\s*[.(])/y;

/** The script text of a tool's source, and the name of its entry function in that text. */
export function toScript(source) {
  const text = source.startsWith("#!") ? `//${source.slice(2)}` : source;
  if (!/\b(?:export|import)\b/.test(text)) {
    return { text, entry: "run" };
  }
  const exported = new Map();
  let script = "";
  let end = 0;
  for (const at of topLevelKeywords(text)) {
    const replaced = replaceExport(text, at, exported);
    script += text.slice(end, at) + replaced;
    end = at + replaced.length;
  }
  script += text.slice(end);
  return { text: script, entry: exported.get("default") ?? exported.get("run") ?? "run" };
}

/** Where `export` and `import` stand as keywords outside of all brackets. */
function topLevelKeywords(text) {
  const found = [];
  const open = [];
  let previous = "";
  let at = 0;
  while (at < text.length) {
    const token = nextToken(text, at, previous, open);
    const isKeyword = token === "export" || token === "import";
    if (isKeyword && open.length === 0 && previous !== ".") {
      found.push(at);
    }
    at += token.length;
    if (!/^(?:\s|\/\/|\/\*)/.test(token)) {
      previous = token;
    }
  }
  return found;
}

/** The token at a position. Updates the open brackets. */
function nextToken(text, at, previous, open) {
  const continuesTemplate = text[at] === "}" && open.at(-1) === "${";
  if (text[at] === "`" || continuesTemplate) {
    if (continuesTemplate) {
      open.pop();
    }
    const rest = match(TEMPLATE_TEXT, text, at + 1);
    if (rest?.[1] === "${") {
      open.push("${");
    }
    return text[at] + (rest?.[0] ?? "");
  }
  if (text[at] === "/" && canPrecedeRegex(previous)) {
    const regex = match(REGEX, text, at);
    if (regex && !regex[0].startsWith("/*")) {
      return regex[0];
    }
  }
  const token = match(TOKEN, text, at)[0];
  if (/^[([{]$/.test(token)) {
    open.push(token);
  } else if (/^[)\]}]$/.test(token)) {
    open.pop();
  }
  return token;
}

/** Whether a slash after this token begins a regular expression. Else it is a division. */
function canPrecedeRegex(previous) {
  if (/^[\w$\u0080-\uffff]/.test(previous)) {
    return WORD_BEFORE_REGEX.test(previous);
  }
  const isValue = /^(?:["'`/)\]}]|\+\+|--)/.test(previous);
  return !isValue || previous.endsWith("${");
}

/** The text in place of the keyword at a position, of the same length. Records exported names. */
function replaceExport(text, at, exported) {
  if (match(STATIC_IMPORT, text, at)) {
    refuse(`A tool is one file: \`import\` is not available (line ${lineOf(text, at)}).`);
  }
  if (text.startsWith("import", at)) {
    return "import";
  }
  const declaration = match(DECLARATION, text, at);
  if (declaration) {
    return blank(declaration[0]);
  }
  if (match(DEFAULT, text, at)) {
    return replaceDefault(text, at, exported);
  }
  const list = match(LIST, text, at);
  const items = list?.[1].split(",").filter((item) => item.trim() !== "");
  const names = items?.map((item) => LIST_ITEM.exec(item));
  if (!list || list[2] || names.includes(null)) {
    refuse(
      `This form of \`export\` is not supported (line ${lineOf(text, at)}). ` +
        "Write `export function run(args)`, `export default function (args)` or `export { run }`.",
    );
  }
  for (const [, local, name] of names) {
    exported.set(name ?? local, local);
  }
  return `;${blank(list[0]).slice(1)}`;
}

function replaceDefault(text, at, exported) {
  const declaration = match(DEFAULT_DECLARATION, text, at);
  const [keywords] = match(DEFAULT, text, at);
  if (declaration?.[4]) {
    exported.set("default", declaration[4]);
    return blank(keywords);
  }
  // A name of the length that `var` leaves free in `export`.
  const names = [..."0123456789"].map((digit) => `$${digit}`);
  const name = names.find((one) => !text.includes(one)) ?? "$_";
  exported.set("default", name);
  if (declaration?.[2] === "function") {
    // A declaration needs a name: it takes the columns of the keywords.
    const [whole, isAsync, , star] = declaration;
    const header = `${isAsync ? "async " : ""}function${star} ${name}`;
    return blank(whole).slice(0, -header.length) + header;
  }
  return `var ${name}${blank(keywords.slice(6, -1))}=`;
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Spaces instead of everything but line ends. */
function blank(text) {
  return text.replace(/[^\r\n]/g, " ");
}

function lineOf(text, at) {
  return text.slice(0, at).split("\n").length;
}
