/* Draft of a grant. Starts with the exact call; the engine validates the result. */

import { plural } from "@/format/amount";
import { when } from "@/format/time";
import { showUnambiguous } from "@/format/visible";
import type { ApprovalView, ArgumentRule, DecisionDraft, GrantScopeView } from "@/platform";

export type RuleKind = ArgumentRule["rule"];

export interface GrantRuleDraft {
  name: string;
  /** Value in the requested call. */
  value: unknown;
  kind: RuleKind;
  /** Values of `oneOf`, one per line. */
  lines: string;
  /** Path or address of `below`. */
  root: string;
}

export interface GrantDraft {
  cover: "exact" | "pattern";
  rules: GrantRuleDraft[];
  /** Days until expiry; null never expires. */
  days: number | null;
  uses: number | null;
}

export function newGrantDraft(approval: ApprovalView): GrantDraft {
  const rules = Object.entries(approval.arguments).map(([name, value]) => ({
    name,
    value,
    kind: "equals" as const,
    lines: formatValue(value),
    root: rootOf(value) ?? "",
  }));
  return { cover: "exact", rules, days: 30, uses: null };
}

/** Rules that fit an argument. Paths and addresses allow `below`. */
export function ruleKindsFor({ value }: GrantRuleDraft): RuleKind[] {
  return rootOf(value) === undefined ? ["equals", "oneOf", "any"] : ["equals", "below", "oneOf", "any"];
}

/** Folder of a path or prefix of an address; undefined for other values. */
function rootOf(value: unknown): string | undefined {
  if (typeof value !== "string" || /[\s\\]/.test(value)) return undefined;
  const address = /^https?:\/\/[^/]+/.exec(value);
  if (!address && !/^[~.]?[\w.-]*(\/[\w.@+-]+)*\/?$/.test(value)) return undefined;
  const cut = value.lastIndexOf("/");
  if (address) return cut > address[0].length ? value.slice(0, cut) : address[0];
  return cut > 0 ? value.slice(0, cut) : value;
}

/** Errors by argument. */
export function grantDraftErrors({ cover, rules }: GrantDraft): Record<string, string> {
  if (cover === "exact") return {};
  const problems: Record<string, string> = {};
  for (const rule of rules) {
    if (rule.kind === "below" && rule.root.trim() === "") problems[rule.name] = "Enter a folder or an address.";
    if (rule.kind === "oneOf" && valuesOf(rule).length === 0) problems[rule.name] = "Add at least one value.";
    else if (rule.kind === "oneOf" && !valuesOf(rule).some((value) => formatValue(value) === formatValue(rule.value)))
      problems[rule.name] = "The requested value is not in this list.";
    if (rule.kind === "below" && !isBelow(rule.root.trim(), rule.value))
      problems[rule.name] = "The requested value is not under this.";
  }
  return problems;
}

function isBelow(root: string, value: unknown): boolean {
  const bare = root.replace(/\/+$/, "");
  return (
    typeof value === "string" &&
    bare !== "" &&
    (value === bare || ["/", "?", "#"].some((next) => value.startsWith(bare + next)))
  );
}

function valuesOf({ lines, value }: GrantRuleDraft): unknown[] {
  const all = lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return typeof value === "string" ? all : all.map(parseValue);
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function ruleOf(rule: GrantRuleDraft): ArgumentRule {
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

function rulesOf({ rules }: GrantDraft): Record<string, ArgumentRule> {
  return Object.fromEntries(rules.map((rule) => [rule.name, ruleOf(rule)]));
}

const dayMs = 86_400_000;

function endOf(days: number | null, now: number): number | undefined {
  return days === null ? undefined : now + days * dayMs;
}

/** Decision that creates the grant. */
export function grantDecision(draft: GrantDraft, now: number): DecisionDraft {
  const expiresAtMs = endOf(draft.days, now);
  return {
    kind: "always",
    ...(draft.cover === "pattern" && { rules: rulesOf(draft) }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(draft.uses !== null && { uses: draft.uses }),
  };
}

/** Sentence parts. Values are separate parts and cannot imitate the sentence. */
export type GrantSentence = readonly (string | SentenceValue)[];

interface SentenceValue {
  value: string;
  isName?: true;
}

/** The grant as a sentence. */
export function grantSentence(draft: GrantDraft, approval: ApprovalView, now: number): GrantSentence {
  const covers: GrantScopeView =
    draft.cover === "exact"
      ? { kind: "exact", arguments: approval.arguments }
      : { kind: "pattern", rules: rulesOf(draft), folder: approval.directory };
  const end = endOf(draft.days, now);
  const until = end === undefined ? "until you revoke it" : `until ${when(end, now)}`;
  const uses =
    draft.uses === null ? "" : draft.uses === 1 ? ", once" : `, at most ${draft.uses.toLocaleString()} times`;
  const what = coverSentence(covers, approval.files.length > 0);
  return [
    "“",
    { value: oneLine(approval.jobName), isName: true },
    `” may call ${approval.tool} without approval `,
    ...what,
    `, ${until}${uses}.`,
  ];
}

/** Coverage of a grant; continues “may call write_file”. */
export function coverSentence(covers: GrantScopeView, hasFiles = false): GrantSentence {
  if (covers.kind === "exact")
    return [`with exactly these arguments${hasFiles ? " and these files as they are now" : ""}`];
  const rules = Object.entries(covers.rules);
  const folder: GrantSentence = covers.folder === null ? [] : [", in ", { value: oneLine(covers.folder) }];
  if (rules.length === 0) return ["without arguments", ...folder];
  return [
    "when ",
    ...rules.flatMap(([name, rule], i) => [
      ...(i > 0 ? [" and "] : []),
      { value: oneLine(name) },
      ...ruleSentence(rule),
    ]),
    ...folder,
  ];
}

function ruleSentence(rule: ArgumentRule): GrantSentence {
  switch (rule.rule) {
    case "any":
      return [" is anything"];
    case "equals":
      return [" is exactly ", ...quoted(rule.value)];
    case "oneOf":
      return [" is ", ...rule.value.flatMap((value, i) => [...(i > 0 ? [" or "] : []), ...quoted(value)])];
    case "below":
      return [" is ", ...quoted(rule.value), " or is under it"];
  }
}

/** Longer values are cut, with the number of omitted characters. */
const maxQuotedChars = 160;

function quoted(value: unknown): GrantSentence {
  const characters = Array.from(formatValue(value));
  const more = characters.length - maxQuotedChars;
  if (more <= 0) return ["“", { value: oneLine(characters.join("")) }, "”"];
  return [
    "“",
    { value: oneLine(characters.slice(0, maxQuotedChars).join("")) },
    `…” (and ${plural(more, "more character")})`,
  ];
}

const lineEnd = "↵";

/** Value on one line; line ends become `↵`. */
function oneLine(text: string): string {
  return showUnambiguous(text, lineEnd).replaceAll("\n", ` ${lineEnd} `);
}
