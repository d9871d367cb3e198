//! A run fired by an event, before and after the commit.

use std::sync::Arc;

use rouse_core::decide::{EventPlan, Firing, plan_event};
use rouse_core::job::{Job, to_json};
use rouse_core::{Cause, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{DueJob, FiredRun};

use super::queued_run::new_run;

/// A planned run of an event, webhook or system event.
pub(crate) struct EventRun {
    /// The row and the cause, for the store.
    pub(crate) fired: FiredRun,
    pub(crate) job: Arc<Job>,
    /// Whether the run replaces the other runs of the job.
    pub(crate) cancels_others: bool,
}

impl EventRun {
    /// Plans the run that `cause` fires.
    pub(crate) fn plan(
        due: DueJob,
        trigger: RunTrigger,
        cause: Cause,
        now: UnixMs,
        firing: &Firing,
    ) -> Self {
        let DueJob { job, queued, active, .. } = due;
        let EventPlan { state, reason, cancel_others } =
            plan_event(&job, (queued, active), &cause, now, firing);
        let payload = to_json(&job.payload);
        let run = Run { state, reason, ..new_run(Some(&job), trigger, payload, now) };
        Self { fired: FiredRun { run, cause }, job: Arc::new(job), cancels_others: cancel_others }
    }

    pub(crate) fn is_queued(&self) -> bool {
        self.fired.run.state == RunState::Queued
    }

    /// The end of a run that was skipped, as an event.
    pub(crate) fn end(&self) -> Option<Cause> {
        let FiredRun { run, cause } = &self.fired;
        Cause::end_of_run(run, run.state, run.reason.as_deref(), Some(cause), run.created_at)
    }
}

/// The rows for the store.
pub(crate) fn fired_rows(runs: &[EventRun]) -> Vec<FiredRun> {
    runs.iter().map(|run| run.fired.clone()).collect()
}

/// The runs that replace the other runs of their jobs.
pub(crate) fn replacing_ids(runs: &[EventRun]) -> Vec<RunId> {
    let replacing = runs.iter().filter(|run| run.cancels_others);
    replacing.map(|run| run.fired.run.id.clone()).collect()
}
