//! Adding, changing and deleting jobs.
//!
//! Enabling or editing a job never fires the job: the next slot is planned strictly after now, and only when the
//! schedule changes or the job is enabled. Another jitter moves the next slot and adds none. Any other edit leaves the
//! schedule grid and the next slot alone. A decided slot is never planned again, even if the job is deleted and added
//! again.
//! Pitfall: planning on every edit postpones an interval job for as long as a person types.

use std::sync::Arc;

use rouse_core::job::{Job, JobError, JobState, patch_job, to_json};
use rouse_core::json_fields::FieldError;
use rouse_core::naming::{for_log, made_anew};
use rouse_core::schedule::Zones;
use rouse_core::slots::{DecidedSlots, Plan, Slots};
use rouse_core::{JobId, RunId, UnixMs};
use rouse_store::StoreError;

use super::Engine;
use crate::error::SchedulerError;
use crate::handle::JobUpdate;
use crate::state::lanes::LaneKey;
use crate::state::queued_run::{job_as_claimed, lane_width};
use crate::status::DeletedJob;

impl Engine {
    pub(super) async fn add_job(&mut self, mut job: Job) -> Result<Job, SchedulerError> {
        let now = self.clock.now();
        // A deleted job that is added again has its history, and a past one-shot stays without a slot.
        let remembered = self.store.state_from_runs(&job.id).await?;
        job.state = JobState { extra: job.state.extra, ..remembered };
        let zones = &self.zones.zones;
        let decided = match self.store.latest_slot(&job.id, now).await? {
            Some(newest) => slots_of(&job, zones)?.decided_by_newest(newest),
            None => DecidedSlots::default(),
        };
        let one_shot = job.schedule.spec.instant();
        let is_past =
            one_shot.is_some_and(|at| job.state.last_run_at.max(decided.until) >= Some(at));
        let plan = if is_past {
            Plan { next: None, decided }
        } else {
            first_plan(&job, decided, now, zones)?
        };
        set_plan(&mut job, plan);
        self.store_rules_of(&job.schedule).await?;
        let job = self.store.insert_job(&job, now).await?;
        log_saved(&job);
        self.slots.invalidate();
        self.listeners.invalidate();
        Ok(job)
    }

    pub(super) async fn update_job(&mut self, update: JobUpdate) -> Result<Job, SchedulerError> {
        let JobUpdate { id, patch, expected_revision, revokes_grants } = update;
        let now = self.clock.now();
        let mut old = self.existing_job(&id).await?;
        if old.enabled && old.state.next_run_at.is_some_and(|slot| slot <= now) {
            // A slot that is due by now belongs to the old schedule.
            self.tick(now).await?;
            old = self.existing_job(&id).await?;
        }
        let is_named = patch.get("name").is_some();
        let mut job = patch_job(&old, patch, now, &self.zones.zones)?;
        if !is_named {
            job.name = self.name_after_edit(&old, &job).await?;
        }
        let plan = plan_after_edit(&old, &job, now, &self.zones.zones)?;
        set_plan(&mut job, plan);
        self.store_rules_of(&job.schedule).await?;
        let job = if revokes_grants && !job.is_same_work(&old) {
            self.store.replace_job(&job, expected_revision, now).await?
        } else {
            self.store.update_job(&job, expected_revision, now).await?
        };
        log_saved(&job);
        self.slots.invalidate();
        self.listeners.invalidate();
        self.update_runs_of(&job);
        if old.enabled && !job.enabled {
            self.skip_scheduled_runs(Some(&id), "The job was switched off");
        }
        Ok(job)
    }

    /// The name of an edited job. A name that was derived from the payload changes with the payload, numbered if taken.
    async fn name_after_edit(&self, old: &Job, job: &Job) -> Result<String, SchedulerError> {
        let [before, after] = [old, job].map(|job| to_json(&job.payload));
        let Some(derived) = made_anew(&old.name, &before, &after) else {
            return Ok(job.name.clone());
        };
        let mut name = derived.clone();
        let mut number = 1;
        while self.store.has_other_job_named(&name, &job.id).await? {
            number += 1;
            name = format!("{derived} {number}");
        }
        Ok(name)
    }

    /// Applies the settings of a changed job to the runs, except the payload.
    fn update_runs_of(&mut self, job: &Job) {
        let lane = LaneKey::Job(job.id.clone());
        for queued in self.lanes.loads_mut(&lane) {
            queued.job = job_as_claimed(job.clone(), &queued.run).map(Arc::new);
        }
        self.lanes.set_width(&lane, lane_width(job));
        for active in self.active.of_job(&job.id) {
            if let Some(job) = job_as_claimed(job.clone(), &active.run) {
                active.job = Some(Arc::new(job));
            }
        }
        self.abandon_refused_retries(job);
    }

    /// Deletes a job and stops the runs, except the deleting run `by`.
    pub(super) async fn remove_job(
        &mut self,
        id: &JobId,
        by: Option<&RunId>,
    ) -> Result<Option<DeletedJob>, SchedulerError> {
        self.end_waiting_runs_of(id, "The job was deleted").await?;
        let removed = self.store.remove_job(id, self.clock.now()).await;
        let (mut stopped_runs, mut caller_continues) = (0, false);
        // An unreadable job is deleted as well.
        if matches!(removed, Ok(Some(_)) | Err(StoreError::Unreadable { .. })) {
            self.slots.invalidate();
            self.listeners.invalidate();
            let caller = by.and_then(|by| self.active.get_mut(by));
            if let Some(caller) = caller.filter(|run| run.run.job_id.as_ref() == Some(id)) {
                caller.has_deleted_own_job = true;
                caller_continues = true;
            }
            stopped_runs = self.cancel_runs_of(id, "The job was removed");
        }
        let removed = removed?;
        if let Some(job) = &removed {
            tracing::debug!(job_id = %job.id, name = name_for_log(job), "cron: job removed");
        }
        Ok(removed.map(|job| DeletedJob { job, stopped_runs, caller_continues }))
    }

    /// Reads a job that must exist.
    pub(super) async fn existing_job(&self, id: &JobId) -> Result<Job, SchedulerError> {
        let job = self.store.job(id).await?;
        Ok(job.ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?)
    }
}

fn log_saved(job: &Job) {
    let next_run_at_ms = job.state.next_run_at.map(|at| at.0);
    tracing::debug!(job_id = %job.id, name = name_for_log(job), next_run_at_ms, "cron: job saved");
}

fn name_for_log(job: &Job) -> String {
    for_log(&job.name, &to_json(&job.payload), job.id.as_str())
}

const fn set_plan(job: &mut Job, plan: Plan) {
    (job.state.next_run_at, job.state.decided) = (plan.next, plan.decided);
}

fn plan_after_edit(old: &Job, job: &Job, now: UnixMs, zones: &Zones) -> Result<Plan, JobError> {
    let mut plan = Plan { next: old.state.next_run_at, decided: old.state.decided };
    let has_new_schedule = old.schedule.spec != job.schedule.spec;
    if has_new_schedule {
        plan.decided = plan.decided.for_new_schedule();
    } else if old.schedule.jitter_ms != job.schedule.jitter_ms {
        plan = slots_of(job, zones)?.plan_by_new_jitter(&slots_of(old, zones)?, plan, now);
    }
    if has_new_schedule || !(job.enabled && old.enabled) {
        plan = first_plan(job, plan.decided, now, zones)?;
    }
    Ok(plan)
}

/// The plan of a job that is new, has a new schedule or was enabled.
fn first_plan(
    job: &Job,
    decided: DecidedSlots,
    now: UnixMs,
    zones: &Zones,
) -> Result<Plan, JobError> {
    let slots = slots_of(job, zones)?;
    if !job.enabled {
        return Ok(Plan { next: None, decided });
    }
    Ok(slots.first_plan(decided, now)?)
}

fn slots_of(job: &Job, zones: &Zones) -> Result<Slots, JobError> {
    Slots::of_job(&job.schedule, &job.id, job.created_at, zones)
        .map_err(|message| JobError(vec![FieldError { path: "schedule".to_owned(), message }]))
}
