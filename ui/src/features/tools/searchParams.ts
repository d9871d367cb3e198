/* URL parameters of the tool catalog. */

export interface ToolsSearch {
  /** Job of the shown tools. */
  job?: string;
}

export function readToolsSearch({ job }: Record<string, unknown>): ToolsSearch {
  return typeof job === "string" && job !== "" ? { job } : {};
}
