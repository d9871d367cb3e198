/* What the address of the catalogue can say: whose tools. */

export interface ToolsSearch {
  /** Only what this job's model is offered. */
  job?: string;
}

export function readToolsSearch({ job }: Record<string, unknown>): ToolsSearch {
  return typeof job === "string" && job !== "" ? { job } : {};
}
