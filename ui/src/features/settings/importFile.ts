/* Reading a file of jobs: an export, or a bare list. */

/** The jobs in the text; throws with words for the person. */
export function readExport(text: string): Record<string, unknown>[] {
  const read = parse(text);
  const jobs: unknown = Array.isArray(read) ? read : (read as { jobs?: unknown } | null)?.jobs;
  if (!Array.isArray(jobs)) throw new Error("This file holds no jobs. It should be an export of Rouse, or a list of jobs as JSON.");
  if (jobs.length === 0) throw new Error("This file holds an empty list of jobs.");
  return jobs as Record<string, unknown>[];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON.");
  }
}
