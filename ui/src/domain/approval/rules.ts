/* A grant while it is being written: what each argument may be, said in words before it is saved. It begins with exactly
   the call that asked; every step away from that is the person's. The engine judges again what is sent. */

import { plural } from "@/format/amount";
import { when } from "@/format/time";
import { unmistakable } from "@/format/visible";
import type { Answer, ApprovalView, CoverView, RuleView } from "@/platform";

export type RuleKind = RuleView["rule"];

export interface DraftRule {
  name: string;
  /** What the call that asked has there. */
  value: unknown;
  kind: RuleKind;
  /** The values of `oneOf`, one a line. */
  lines: string;
  /** The path or address of `below`. */
  root: string;
}

export interface GrantDraft {
  cover: "exact" | "pattern";
  rules: DraftRule[];
  /** For how many days; without an end when null. */
  days: number | null;
  uses: number | null;
}

export function draftFor(approval: ApprovalView): GrantDraft {
  const rules = Object.entries(approval.arguments).map(([name, value]) => ({
    name, value, kind: "equals" as const, lines: written(value), root: rootOf(value) ?? "",
  }));
  return { cover: "exact", rules, days: 30, uses: null };
}

/** Which rules fit an argument: paths and addresses may lie below another. */
export function kindsFor({ value }: DraftRule): RuleKind[] {
  return rootOf(value) === undefined ? ["equals", "oneOf", "any"] : ["equals", "below", "oneOf", "any"];
}

/** The folder of a path, the beginning of an address; undefined for anything else. */
function rootOf(value: unknown): string | undefined {
  if (typeof value !== "string" || /[\s\\]/.test(value)) return undefined;
  const address = /^https?:\/\/[^/]+/.exec(value);
  if (!address && !/^[~.]?[\w.-]*(\/[\w.@+-]+)*\/?$/.test(value)) return undefined;
  const cut = value.lastIndexOf("/");
  if (address) return cut > address[0].length ? value.slice(0, cut) : address[0];
  return cut > 0 ? value.slice(0, cut) : value;
}

/** What is still missing, in words, by argument. */
export function problemsOf({ cover, rules }: GrantDraft): Record<string, string> {
  if (cover === "exact") return {};
  const problems: Record<string, string> = {};
  for (const rule of rules) {
    if (rule.kind === "below" && rule.root.trim() === "") problems[rule.name] = "Say below what.";
    if (rule.kind === "oneOf" && valuesOf(rule).length === 0) problems[rule.name] = "Give at least one value.";
    else if (rule.kind === "oneOf" && !valuesOf(rule).some((value) => written(value) === written(rule.value))) problems[rule.name] = "What was asked for is not among them.";
    if (rule.kind === "below" && !isBelow(rule.root.trim(), rule.value)) problems[rule.name] = "What was asked for does not lie below this.";
  }
  return problems;
}

function isBelow(root: string, value: unknown): boolean {
  const bare = root.replace(/\/+$/, "");
  return typeof value === "string" && bare !== "" && (value === bare || ["/", "?", "#"].some((next) => value.startsWith(bare + next)));
}

function valuesOf({ lines, value }: DraftRule): unknown[] {
  const all = lines.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return typeof value === "string" ? all : all.map(parsed);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function ruleOf(rule: DraftRule): RuleView {
  switch (rule.kind) {
    case "any":
      return { rule: "any" };
    case "equals":
      return { rule: "equals", value: rule.value };
    case "oneOf":
      return { rule: "oneOf", value: valuesOf(rule) };
    case "below":
      return { rule: "below", value: rule.root.trim() };
  }
}

function rulesOf({ rules }: GrantDraft): Record<string, RuleView> {
  return Object.fromEntries(rules.map((rule) => [rule.name, ruleOf(rule)]));
}

const dayMs = 86_400_000;

function endOf(days: number | null, now: number): number | undefined {
  return days === null ? undefined : now + days * dayMs;
}

/** The answer that makes this grant. */
export function answerOf(draft: GrantDraft, now: number): Answer {
  const expiresAtMs = endOf(draft.days, now);
  return {
    kind: "always",
    ...(draft.cover === "pattern" && { rules: rulesOf(draft) }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(draft.uses !== null && { uses: draft.uses }),
  };
}

/** A sentence in parts. What a model has written is a part of its own, so that no value can look like words of the sentence. */
export type Said = readonly (string | Value)[];

interface Value {
  value: string;
  /** The name of a job. */
  isName?: true;
}

/** What the grant would allow, as one sentence. */
export function draftWords(draft: GrantDraft, approval: ApprovalView, now: number): Said {
  const covers: CoverView = draft.cover === "exact" ? { kind: "exact", arguments: approval.arguments } : { kind: "pattern", rules: rulesOf(draft), folder: approval.directory };
  const end = endOf(draft.days, now);
  const until = end === undefined ? "until somebody takes it back" : `until ${when(end, now)}`;
  const uses = draft.uses === null ? "" : draft.uses === 1 ? ", once" : `, at most ${draft.uses.toLocaleString()} times`;
  const what = coverWords(covers, approval.files.length > 0);
  return ["“", { value: oneLine(approval.jobName), isName: true }, `” may call ${approval.tool} without asking `, ...what, `, ${until}${uses}.`];
}

/** What a grant covers, to go on after “may call write_file without asking”. */
export function coverWords(covers: CoverView, hasFiles = false): Said {
  if (covers.kind === "exact") return [`with exactly these arguments${hasFiles ? " and these files as they are now" : ""}`];
  const rules = Object.entries(covers.rules);
  const folder: Said = covers.folder === null ? [] : [", in ", { value: oneLine(covers.folder) }];
  if (rules.length === 0) return ["without arguments", ...folder];
  return ["when ", ...rules.flatMap(([name, rule], i) => [...(i > 0 ? [" and "] : []), { value: oneLine(name) }, ...ruleWords(rule)]), ...folder];
}

function ruleWords(rule: RuleView): Said {
  switch (rule.rule) {
    case "any":
      return [" is anything"];
    case "equals":
      return [" is exactly ", ...quoted(rule.value)];
    case "oneOf":
      return [" is ", ...rule.value.flatMap((value, i) => [...(i > 0 ? [" or "] : []), ...quoted(value)])];
    case "below":
      return [" is ", ...quoted(rule.value), " or lies below it"];
  }
}

/** Longer ones are seen whole beside the sentence; how much of them is not in it is said. */
const mostQuoted = 160;

function quoted(value: unknown): Said {
  const characters = Array.from(written(value));
  const more = characters.length - mostQuoted;
  if (more <= 0) return ["“", { value: oneLine(characters.join("")) }, "”"];
  return ["“", { value: oneLine(characters.slice(0, mostQuoted).join("")) }, `…” (and ${plural(more, "more character")})`];
}

const lineEnd = "↵";

/** A value on one line with everything in it to be seen; a sign that is taken for the end of a line is told apart from one. */
function oneLine(text: string): string {
  return unmistakable(text, lineEnd).replaceAll("\n", ` ${lineEnd} `);
}
