/* What can be done to a job from its row and from its page. The calls outlive the menu they were chosen from, so they go to
   the host directly; what a job was before a delete is kept for as long as it can be undone. */

import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { toast, undoForMs, undoToast } from "@/components/Toasts";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useStartedToast } from "@/data/started";
import { plural } from "@/format/amount";
import type { BrokenJob, CronListResult, Follower, Job, JobView, RunView } from "@/platform";

import { withoutState } from "./form";

export function useJobActions() {
  const platform = usePlatform();
  const client = useQueryClient();
  const navigate = useNavigate();
  const started = useStartedToast();

  const refresh = (id: string) => {
    for (const queryKey of [keys.jobs, keys.job(id), keys.status, keys.runs]) void client.invalidateQueries({ queryKey });
  };
  /** Shows at once what the call will have made of the lists. */
  const showJobs = (change: (jobs: JobView[]) => JobView[]) =>
    client.setQueriesData<CronListResult>({ queryKey: keys.jobs }, (list) => list && { ...list, jobs: change(list.jobs) });
  const failed = (title: string) => (error: unknown) => void toast({ title, about: error instanceof Error ? error.message : String(error) });

  const restore = (job: Job) =>
    void platform.rpc("cron.add", withoutState(job)).then(() => refresh(job.id), failed(`“${job.name}” was not brought back`));

  const stop = (id: string, runs: readonly RunView[]) =>
    void Promise.all(runs.map((run) => platform.rpc("runs.cancel", { id: run.id }))).then(() => refresh(id), failed("It was not stopped"));

  /** Whoever switches a job off may think that this ends its run. One that waits for its next attempt has ended by it. */
  const tellOfWork = ({ id, name }: Job) =>
    platform.rpc("runs.list", { jobId: id, states: ["running"] }).then(({ runs }) => {
      const atWork = runs.filter(({ nextAttemptAtMs }) => nextAttemptAtMs === null);
      if (atWork.length === 0) return;
      // Not that it is paused: it may have been resumed since.
      const [title, label] = atWork.length === 1 ? [`A run of “${name}” is still at work`, "Stop the run"] : [`${atWork.length} runs of “${name}” are still at work`, "Stop the runs"];
      toast({ title, action: { label, onAction: () => stop(id, atWork) } }, undoForMs);
    }, failed(`The runs of “${name}” could not be read`));

  return {
    open: (id: string) => void navigate({ to: "/jobs/$jobId", params: { jobId: id } }),

    duplicate: (id: string) => void navigate({ to: "/jobs/new", search: { from: id } }),

    run: ({ id, name }: Job) =>
      void platform.rpc("cron.run", { id, mode: "force" }).then(({ runId }) => {
        refresh(id);
        if (runId !== null) started(name, runId);
      }, failed(`“${name}” was not run`)),

    setEnabled: (job: Job, enabled: boolean) => {
      const { id, name } = job;
      showJobs((jobs) => jobs.map((view) => (view.job.id === id ? { ...view, job: { ...view.job, enabled } } : view)));
      return platform.rpc("cron.update", { id, patch: { enabled } }).then(({ liveRunIds }) => {
        refresh(id);
        return enabled || liveRunIds.length === 0 ? undefined : tellOfWork(job);
      }, (error: unknown) => {
        refresh(id);
        failed(enabled ? `“${name}” was not resumed` : `“${name}” was not paused`)(error);
      });
    },

    /** Gone for good: nothing that could be brought back was in it. */
    removeBroken: ({ id, name }: BrokenJob) =>
      platform.rpc("cron.remove", { id }).then(() => {
        refresh(id);
        toast({ title: `Deleted “${name}”` });
      }, failed(`“${name}” was not deleted`)),

    /** Gone at once, and back for ten seconds. */
    remove: async ({ id, name }: Job) => {
      showJobs((jobs) => jobs.filter((view) => view.job.id !== id));
      try {
        const { job, followers } = await platform.rpc("cron.remove", { id });
        if (job) undoToast(`Deleted “${job.name}”`, () => restore(job), strandedWords(followers));
        return true;
      } catch (error) {
        failed(`“${name}” was not deleted`)(error);
        return false;
      } finally {
        refresh(id);
      }
    },
  };
}

/** Who waited for a job that is gone; undefined when nobody did. */
function strandedWords(followers: readonly Follower[]): string | undefined {
  const names = followers.slice(0, 3).map(({ name }) => `“${name}”`);
  const more = followers.length - names.length;
  if (names.length === 0) return undefined;
  const all = [...names, ...(more > 0 ? [plural(more, "other job")] : [])];
  return all.length === 1 ? `${all[0]} waited for it and does not fire any more.` : `${all.join(", ")} waited for it and do not fire any more.`;
}

export type JobActions = ReturnType<typeof useJobActions>;
