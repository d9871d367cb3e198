/* What the address of the list of jobs can say. */

const filters = ["active", "paused", "failing"] as const;

export interface JobsSearch {
  filter?: (typeof filters)[number];
  q?: string;
}

export function readJobsSearch(search: Record<string, unknown>): JobsSearch {
  const filter = filters.find((known) => known === search.filter);
  return { ...(filter && { filter }), ...(typeof search.q === "string" && search.q !== "" && { q: search.q }) };
}
