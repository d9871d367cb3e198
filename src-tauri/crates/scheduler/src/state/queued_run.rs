//! A queued run, and the facts of its row: lane, width and end before the start.

use std::sync::Arc;

use rouse_core::decide::too_late_to_start;
use rouse_core::job::{Job, Overlap, Payload};
use rouse_core::{Outcome, Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};
use serde_json::Value;

use super::lanes::LaneKey;

/// A run in the queue of a lane.
#[derive(Debug)]
pub(crate) struct QueuedRun {
    pub(crate) run: Run,
    /// The job with current settings and the payload of the run.
    pub(crate) job: Option<Arc<Job>>,
}

impl QueuedRun {
    /// The end of a run that is later than the job allows.
    pub(crate) fn missed(&self, now: UnixMs) -> Option<Outcome> {
        missed_outcome(self.job.as_deref()?, &self.run, now)
    }
}

/// A run that left the queue, or was parked, and ends without further work.
#[derive(Debug)]
pub(crate) struct QueueExit {
    pub(crate) id: RunId,
    pub(crate) outcome: Outcome,
}

impl QueueExit {
    pub(crate) fn cancelled(id: RunId, reason: &str) -> Self {
        Self { id, outcome: cancelled_outcome(reason) }
    }
}

pub(crate) fn cancelled_outcome(reason: &str) -> Outcome {
    Outcome { reason: Some(reason.to_owned()), ..Outcome::of(RunState::Cancelled) }
}

/// The end of a run that is later than the job allows.
pub(crate) fn missed_outcome(job: &Job, run: &Run, now: UnixMs) -> Option<Outcome> {
    let reason = too_late_to_start(job, run, now)?;
    Some(Outcome { reason: Some(reason), ..Outcome::of(RunState::Missed) })
}

/// The row of a new queued run.
pub(crate) fn new_run(job: Option<&Job>, trigger: RunTrigger, payload: Value, now: UnixMs) -> Run {
    // Tool calls and reminders write no transcript.
    let session = match job {
        None => Some(SessionKey::main()),
        Some(job) => {
            matches!(job.payload, Payload::AgentTurn(_)).then(|| SessionKey::of_job(&job.id))
        }
    };
    Run {
        job_id: job.map(|job| job.id.clone()),
        job_name: job.map_or("Heartbeat", |job| &job.name).to_owned(),
        session,
        payload,
        ..Run::queued(RunId::generate(now), trigger, now)
    }
}

/// The row of a queued run that starts its first attempt at `now`, or continues after an approval.
pub(crate) fn started_run(run: Run, now: UnixMs) -> Run {
    let started_at = run.started_at.or(Some(now));
    Run { state: RunState::Running, started_at, attempt: run.attempt.max(1), ..run }
}

/// Whether a queued run has already done part of its work, and continues.
pub(crate) const fn has_started(run: &Run) -> bool {
    run.started_at.is_some()
}

pub(crate) fn lane_of(run: &Run) -> LaneKey {
    match &run.job_id {
        Some(job) => LaneKey::Job(job.clone()),
        None if run.is_trial() => LaneKey::Trials,
        None => LaneKey::Main,
    }
}

/// How many runs of a job may be active at once.
pub(crate) fn lane_width(job: &Job) -> usize {
    match job.policies.overlap {
        Overlap::Parallel => job.policies.max_concurrent.unwrap_or(2) as usize,
        Overlap::Skip | Overlap::Queue | Overlap::CancelOther => 1,
    }
}

/// `job` with the payload that `run` was claimed with; none when that cannot be read.
pub(crate) fn job_as_claimed(job: Job, run: &Run) -> Option<Job> {
    let id = job.id.clone();
    match job.as_claimed(&run.payload) {
        Ok(job) => Some(job),
        Err(error) => {
            let name = run.name_for_log();
            tracing::error!(%error, job_id = %id, run_id = %run.id, name, "the payload of a run cannot be read");
            None
        }
    }
}
