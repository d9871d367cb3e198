/* URL parameters of the job list and of new jobs. */

import { type TemplateId, templateIds } from "./templates";

const filters = ["active", "paused", "failing"] as const;

export interface JobsSearch {
  filter?: (typeof filters)[number];
  q?: string;
}

export function readJobsSearch(search: Record<string, unknown>): JobsSearch {
  const filter = filters.find((known) => known === search.filter);
  return { ...(filter && { filter }), ...(typeof search.q === "string" && search.q !== "" && { q: search.q }) };
}

export interface NewJobSearch {
  /** Job to copy. */
  from?: string;
  template?: TemplateId;
  /** Approval with a proposed job. */
  ask?: string;
}

export function readNewJobSearch(search: Record<string, unknown>): NewJobSearch {
  const template = templateIds.find((known) => known === search.template);
  return {
    ...(typeof search.from === "string" && { from: search.from }),
    ...(template && { template }),
    ...(typeof search.ask === "string" && { ask: search.ask }),
  };
}
