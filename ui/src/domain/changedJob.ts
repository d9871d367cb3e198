/* Encodes a job that replaces an agent's proposal. The agent's call is denied, and the reason names the job that the
   user created. Pitfall: find the job by id, not by name. */

export interface ChangedJob {
  id: string;
  name: string;
}

const before = "The person has changed this routine and makes it: it stands as “";
const between = "”, and its id is ";

/** Denial reason for a proposal replaced by this job. */
export function changedJobReason({ id, name }: ChangedJob): string {
  return `${before}${name}${between}${id}.`;
}

/** The job named by a denial reason; undefined for other reasons. */
export function parseChangedJob(words: string): ChangedJob | undefined {
  // A name may contain these words, so the last id counts.
  const [from, to] = [words.indexOf(before), words.lastIndexOf(between)];
  const id = /^[0-9a-f-]{36}(?=\.)/.exec(words.slice(to + between.length))?.[0];
  if (from < 0 || to < from + before.length || id === undefined) return undefined;
  return { id, name: words.slice(from + before.length, to) };
}
