//! Adding, changing and removing jobs.
//!
//! Owns the rule that neither enabling nor editing fires anything: a next slot is planned strictly after now, and only
//! when the schedule changes or the job is switched on; another jitter moves the next slot and makes no other
//! (`Slots::plan_by_new_jitter`). Everything else leaves the grid and the next slot alone. A slot that has been decided is
//! planned by none of it, not even for a job that was removed and comes back. One could get it wrong by planning anew on
//! every edit, which pushes an interval job away as long as somebody types.

use rouse_core::job::{Job, JobError, JobState, patch_job, payload_to_json};
use rouse_core::json_fields::FieldError;
use rouse_core::naming::{for_log, made_anew};
use rouse_core::schedule::Zones;
use rouse_core::slots::{DecidedSlots, Plan, Slots};
use rouse_core::{JobId, RunId, UnixMs};
use rouse_store::StoreError;
use serde_json::Value;

use crate::SchedulerError;
use crate::engine::Engine;

/// A job that is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Removed {
    /// As it was.
    pub job: Job,
    /// Its runs at work that were told to end.
    pub ended: u32,
    /// Whether the run that asked for it goes on.
    pub goes_on: bool,
}

/// Where a change of a job comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was made here, by somebody who sees what the job was granted.
    Here,
    /// It came in a file.
    Elsewhere,
}

impl Engine {
    pub(crate) async fn add_job(&mut self, mut job: Job) -> Result<Job, SchedulerError> {
        let now = self.clock.now();
        // A job that was removed by mistake comes back with its history, and a one-shot whose slot is over stays as it is.
        let remembered = self.store.remembered_state(&job.id).await?;
        job.state = JobState { extra: job.state.extra, ..remembered };
        let decided = match self.store.newest_slot(&job.id, now).await? {
            Some(newest) => slots_of(&job, &self.zones)?.remembering(newest),
            None => DecidedSlots::default(),
        };
        let once = job.schedule.spec.instant();
        let is_over = once.is_some_and(|at| job.state.last_run_at.max(decided.until) >= Some(at));
        let plan = match is_over {
            true => Plan { next: None, decided },
            false => first_plan(&job, decided, now, &self.zones)?,
        };
        set_plan(&mut job, plan);
        self.keep_rules_of(&job.schedule).await?;
        let job = self.store.insert_job(&job, now).await?;
        log_saved(&job);
        self.next_due_is_stale = true;
        self.listeners.changed();
        Ok(job)
    }

    pub(crate) async fn update_job(
        &mut self,
        id: &JobId,
        patch: Value,
        expected_revision: Option<i64>,
        origin: Origin,
    ) -> Result<Job, SchedulerError> {
        let now = self.clock.now();
        let mut old = self.found(id).await?;
        if old.enabled && old.state.next_run_at.is_some_and(|slot| slot <= now) {
            // What has come by now is the old job's; what comes while that is written is the new one's.
            self.tick(now).await?;
            old = self.found(id).await?;
        }
        let is_named = patch.get("name").is_some();
        let mut job = patch_job(&old, patch, now, &self.zones)?;
        if !is_named {
            job.name = self.name_after_edit(&old, &job).await?;
        }
        let plan = plan_after_edit(&old, &job, now, &self.zones)?;
        set_plan(&mut job, plan);
        self.keep_rules_of(&job.schedule).await?;
        let job = if origin == Origin::Elsewhere && !job.is_same_work(&old) {
            self.store.replace_job(&job, expected_revision, now).await?
        } else {
            self.store.update_job(&job, expected_revision, now).await?
        };
        log_saved(&job);
        self.next_due_is_stale = true;
        self.listeners.changed();
        self.refresh_runs_of(&job);
        if old.enabled && !job.enabled {
            self.skip_waiting(Some(id), "The job was switched off");
        }
        Ok(job)
    }

    /// The name of `job`, which was `old`: one that was made of what that did goes with it, with a number where it is taken.
    async fn name_after_edit(&self, old: &Job, job: &Job) -> Result<String, SchedulerError> {
        let [before, after] = [old, job].map(|job| payload_to_json(&job.payload));
        let Some(made) = made_anew(&old.name, &before, &after) else { return Ok(job.name.clone()) };
        let mut name = made.clone();
        let mut number = 1;
        while self.store.has_namesake(&name, &job.id).await? {
            number += 1;
            name = format!("{made} {number}");
        }
        Ok(name)
    }

    /// Removes a job. Its runs at work are ended, but not the one that asks for it: that has its answer still to tell.
    pub(crate) async fn remove_job(
        &mut self,
        id: &JobId,
        by: Option<&RunId>,
    ) -> Result<Option<Removed>, SchedulerError> {
        self.end_waiting_of(id, "Its job was deleted").await?;
        let removed = self.store.remove_job(id, self.clock.now()).await;
        let (mut ended, mut goes_on) = (0, false);
        // One that nobody can read is gone as well.
        if matches!(removed, Ok(Some(_)) | Err(StoreError::Unreadable { .. })) {
            self.next_due_is_stale = true;
            self.listeners.changed();
            goes_on = self.outlives_its_job(id, by);
            ended = self.end_runs_of(id, "The job was removed");
        }
        let removed = removed?;
        if let Some(job) = &removed {
            tracing::debug!(job_id = %job.id, name = name_of(job), "cron: job removed");
        }
        Ok(removed.map(|job| Removed { job, ended, goes_on }))
    }

    pub(crate) async fn found(&self, id: &JobId) -> Result<Job, SchedulerError> {
        let job = self.store.job(id).await?;
        Ok(job.ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?)
    }
}

fn log_saved(job: &Job) {
    let next_run_at_ms = job.state.next_run_at.map(|at| at.0);
    tracing::debug!(job_id = %job.id, name = name_of(job), next_run_at_ms, "cron: job saved");
}

fn name_of(job: &Job) -> String {
    for_log(&job.name, &payload_to_json(&job.payload), job.id.as_str())
}

const fn set_plan(job: &mut Job, plan: Plan) {
    (job.state.next_run_at, job.state.decided) = (plan.next, plan.decided);
}

fn plan_after_edit(old: &Job, job: &Job, now: UnixMs, zones: &Zones) -> Result<Plan, JobError> {
    let mut plan = Plan { next: old.state.next_run_at, decided: old.state.decided };
    let has_other_slots = old.schedule.spec != job.schedule.spec;
    if has_other_slots {
        plan.decided = plan.decided.of_another_schedule();
    } else if old.schedule.jitter_ms != job.schedule.jitter_ms {
        plan = slots_of(job, zones)?.plan_by_new_jitter(&slots_of(old, zones)?, plan, now);
    }
    if has_other_slots || !(job.enabled && old.enabled) {
        plan = first_plan(job, plan.decided, now, zones)?;
    }
    Ok(plan)
}

/// The plan of a job that is new, has a new schedule or was switched on.
fn first_plan(
    job: &Job,
    decided: DecidedSlots,
    now: UnixMs,
    zones: &Zones,
) -> Result<Plan, JobError> {
    let slots = slots_of(job, zones)?;
    if job.enabled { slots.first_plan(decided, now) } else { Ok(Plan { next: None, decided }) }
}

fn slots_of(job: &Job, zones: &Zones) -> Result<Slots, JobError> {
    Slots::of_job(&job.schedule, &job.id, job.created_at, zones)
        .map_err(|reason| refusal("schedule", reason))
}

fn refusal(path: &str, message: String) -> JobError {
    JobError(vec![FieldError { path: path.to_owned(), message }])
}
