/* A job that a model has proposed and a person has changed before it was made. The gate knows a yes and a no alone, so the
   model's own call is refused and the person's job is made in its place. The reason of that no says which job that is: the
   model is told it, and whoever shows the refusal finds the job in it again. One could get it wrong by looking for the job by
   its name, which others may have and which changes. */

export interface ChangedJob {
  id: string;
  name: string;
}

const before = "The person has changed this routine and makes it: it stands as “";
const between = "”, and its id is ";

/** What a model is told of a proposal that stands as this job. */
export function changedWords({ id, name }: ChangedJob): string {
  return `${before}${name}${between}${id}.`;
}

/** The job that stands in the place of what was refused with these words; undefined of every other no. */
export function changedJob(words: string): ChangedJob | undefined {
  // A name may hold anything, these words too; the last id is the one that was written here.
  const [from, to] = [words.indexOf(before), words.lastIndexOf(between)];
  const id = /^[0-9a-f-]{36}(?=\.)/.exec(words.slice(to + between.length))?.[0];
  if (from < 0 || to < from + before.length || id === undefined) return undefined;
  return { id, name: words.slice(from + before.length, to) };
}
