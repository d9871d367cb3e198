/* Job fields with one form field each. An entry defines type, default, error path, reader and writer of the form field.
   Other fields are in jobForm.ts, their error paths in fieldPaths.ts. */

import { isJsonObject, type JsonObject } from "@/format/json";
import type { Approvals, Effort, JobDraft, MisfireMode, Notify, Overlap, Sandbox } from "@/platform";

import {
  type Codec,
  duration,
  lineList,
  names,
  number,
  optionalChoice,
  secondsOfMs,
  text,
  withDefault,
  wordList,
} from "./fieldCodecs";
import { applyMergePatch } from "./mergePatch";

/** Type of the value at `Path`; of one branch if `Part` is a union. */
type StoredAt<Part, Path extends string> = Path extends `${infer Key}.${infer Rest}`
  ? StoredAt<StoredAt<Part, Key>, Rest>
  : Part extends unknown
    ? Path extends keyof Part
      ? NonNullable<Part[Path]>
      : never
    : never;

interface Field<Path extends string, Stored, Value> {
  path: Path;
  codec: Codec<Stored, Value>;
}

function field<const Path extends string, Value>(
  path: Path,
  codec: Codec<StoredAt<JobDraft, Path>, Value>,
): Field<Path, StoredAt<JobDraft, Path>, Value> {
  return { path, codec };
}

/** Fields of every job. */
export const jobFields = {
  description: field("description", text),
  deleteAfterRun: field("deleteAfterRun", withDefault<boolean>(false)),
  misfire: field("policies.misfire.mode", withDefault<MisfireMode>("runOnce")),
  latest: field("policies.misfire.maxLatenessSeconds", duration),
  misfireLimit: field("policies.misfire.limit", number),
  overlap: field("policies.overlap", withDefault<Overlap>("skip")),
  maxConcurrent: field("policies.maxConcurrent", number),
  timeout: field("policies.timeoutSeconds", duration),
  attempts: field("runtime.maxAttempts", number),
  backoffSeconds: field("runtime.retryBackoffMs", secondsOfMs),
  pauseAfterFailures: field("policies.pauseAfterFailures", number),
  cooldown: field("policies.cooldownSeconds", duration),
  tokensPerRun: field("policies.budget.tokensPerRun", number),
  tokensPerDay: field("policies.budget.tokensPerDay", number),
  usdPerRun: field("policies.budget.usdPerRun", number),
  usdPerDay: field("policies.budget.usdPerDay", number),
  notify: field("policies.notify", withDefault<Notify>("findings")),
  deliverTo: field("policies.deliverTo", names),
  approvals: field("policies.approvals", withDefault<Approvals>("ask")),
  approvalTime: field("policies.approvalSeconds", duration),
  hosts: field("policies.hosts", wordList("\n")),
  folders: field("policies.folders", lineList),
  sandbox: field("policies.sandbox", withDefault<Sandbox>("required")),
};

/** Fields of jobs with an agent. */
export const agentFields = {
  agent: field("payload.agent", text),
  contextPaths: field("payload.contextPaths", lineList),
  deliver: field("payload.deliver", withDefault<boolean>(true)),
};

/** Fields of jobs with a coding agent. */
export const codingAgentFields = {
  cwd: field("payload.cwd", text),
};

/** Fields of jobs with a model. The engine refuses them with a coding agent. */
export const modelFields = {
  model: field("payload.model", text),
  fallbacks: field("payload.fallbacks", wordList(", ")),
  skills: field("payload.skills", names),
  servers: field("payload.servers", names),
  maxSteps: field("payload.maxSteps", number),
  maxTokens: field("payload.maxTokens", number),
  effort: field("payload.effort", optionalChoice<Effort>()),
};

export type FieldTable = typeof jobFields | typeof agentFields | typeof codingAgentFields | typeof modelFields;

/** Form values of a table. */
export type FieldValues<Table> = {
  [Name in keyof Table]: Table[Name] extends { codec: { read: (stored: never) => infer Value } } ? Value : never;
};

/** Reads the fields of `table` from a job. */
export function readFields<Table extends FieldTable>(table: Table, job: object): FieldValues<Table> {
  const values = entriesOf(table).map(([name, { path, codec }]) => [name, codec.read(valueAt(job, path))] as const);
  return Object.fromEntries(values) as FieldValues<Table>;
}

/** The parts of a job with the fields of `table`, without default values. */
export function writeFields<Table extends FieldTable>(table: Table, form: FieldValues<Table>): JsonObject {
  const values: JsonObject = { ...form };
  return entriesOf(table).reduce((job: JsonObject, [name, { path, codec }]) => {
    const stored = codec.write(values[name]);
    return stored === undefined ? job : applyMergePatch(job, nest(path, stored));
  }, {});
}

/** Untyped, because the types of path and codec agree per entry only. */
function entriesOf(table: FieldTable) {
  return Object.entries(table) as unknown as [string, Field<string, unknown, unknown>][];
}

function valueAt(part: unknown, path: string): unknown {
  return path.split(".").reduce((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), part);
}

function nest(path: string, value: unknown): JsonObject {
  const [key = "", ...rest] = path.split(".");
  return { [key]: rest.length === 0 ? value : nest(rest.join("."), value) };
}
