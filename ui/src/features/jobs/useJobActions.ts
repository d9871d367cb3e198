/* Actions on a job. Calls outlive their menu; a deleted job is kept for undo. */

import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { toast, undoForMs, undoToast } from "@/components/Toasts";
import { keys } from "@/data/keys";
import { usePlatform } from "@/data/platform";
import { useStartedToast } from "@/data/useStartedToast";
import { plural } from "@/format/amount";
import type { BrokenJob, CronListResult, Follower, Job, JobView, RunView } from "@/platform";

import { withoutState } from "@/features/jobs/form/jobChanges";

export function useJobActions() {
  const platform = usePlatform();
  const client = useQueryClient();
  const navigate = useNavigate();
  const started = useStartedToast();

  const refresh = (id: string) => {
    for (const queryKey of [keys.jobs, keys.job(id), keys.status, keys.runs])
      void client.invalidateQueries({ queryKey });
  };
  /** Optimistic update of the job lists. */
  const updateCachedJobs = (change: (jobs: JobView[]) => JobView[]) =>
    client.setQueriesData<CronListResult>(
      { queryKey: keys.jobs },
      (list) => list && { ...list, jobs: change(list.jobs) },
    );
  const showFailure = (title: string) => (error: unknown) =>
    void toast({ title, about: error instanceof Error ? error.message : String(error) });

  const restore = (job: Job) =>
    void platform
      .rpc("cron.add", withoutState(job))
      .then(() => refresh(job.id), showFailure(`Could not restore “${job.name}”`));

  const stopRuns = (id: string, runs: readonly RunView[]) =>
    void Promise.all(runs.map((run) => platform.rpc("runs.cancel", { id: run.id }))).then(
      () => refresh(id),
      showFailure("Could not stop the run"),
    );

  /** Pausing a job does not stop active runs, so the toast offers to. A run between attempts has ended. */
  const offerToStopRuns = ({ id, name }: Job) =>
    platform.rpc("runs.list", { jobId: id, states: ["running"] }).then(
      ({ runs }) => {
        const active = runs.filter(({ nextAttemptAtMs }) => nextAttemptAtMs === null);
        if (active.length === 0) return;
        // The job may have been resumed since.
        const [title, label] =
          active.length === 1
            ? [`A run of “${name}” is still running`, "Stop the run"]
            : [`${active.length} runs of “${name}” are still running`, "Stop the runs"];
        toast({ title, action: { label, onAction: () => stopRuns(id, active) } }, undoForMs);
      },
      showFailure(`Could not load the runs of “${name}”`),
    );

  return {
    open: (id: string) => void navigate({ to: "/jobs/$jobId", params: { jobId: id } }),

    duplicate: (id: string) => void navigate({ to: "/jobs/new", search: { from: id } }),

    run: ({ id, name }: Job) =>
      void platform.rpc("cron.run", { id, mode: "force" }).then(
        ({ runId }) => {
          refresh(id);
          if (runId !== null) started(name, runId);
        },
        showFailure(`Could not run “${name}”`),
      ),

    setEnabled: (job: Job, enabled: boolean) => {
      const { id, name } = job;
      updateCachedJobs((jobs) =>
        jobs.map((view) => (view.job.id === id ? { ...view, job: { ...view.job, enabled } } : view)),
      );
      return platform.rpc("cron.update", { id, patch: { enabled } }).then(
        ({ liveRunIds }) => {
          refresh(id);
          return enabled || liveRunIds.length === 0 ? undefined : offerToStopRuns(job);
        },
        (error: unknown) => {
          refresh(id);
          showFailure(enabled ? `Could not resume “${name}”` : `Could not pause “${name}”`)(error);
        },
      );
    },

    /** Deletes an unreadable job, without undo. */
    removeBroken: ({ id, name }: BrokenJob) =>
      platform.rpc("cron.remove", { id }).then(
        () => {
          refresh(id);
          toast({ title: `Deleted “${name}”` });
        },
        showFailure(`Could not delete “${name}”`),
      ),

    /** Deletes a job, with undo for ten seconds. */
    remove: async ({ id, name }: Job) => {
      updateCachedJobs((jobs) => jobs.filter((view) => view.job.id !== id));
      try {
        const { job, followers } = await platform.rpc("cron.remove", { id });
        if (job) undoToast(`Deleted “${job.name}”`, () => restore(job), orphanedFollowers(followers));
        return true;
      } catch (error) {
        showFailure(`Could not delete “${name}”`)(error);
        return false;
      } finally {
        refresh(id);
      }
    },
  };
}

/** Names the jobs that the deleted job triggered; undefined without any. */
function orphanedFollowers(followers: readonly Follower[]): string | undefined {
  const names = followers.slice(0, 3).map(({ name }) => `“${name}”`);
  const more = followers.length - names.length;
  if (names.length === 0) return undefined;
  const all = [...names, ...(more > 0 ? [plural(more, "other job")] : [])];
  return all.length === 1
    ? `${all[0]} was triggered by it and will not fire again.`
    : `${all.join(", ")} were triggered by it and will not fire again.`;
}

export type JobActions = ReturnType<typeof useJobActions>;
