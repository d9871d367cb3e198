//! Whom a missed slot tells, where it is claimed and where it has waited too long; and whether a run that was cut off does.
//!
//! A job that misses one slot after the other tells of it once, until it has run again or nothing was missed for as long
//! as an incident takes to be over; a job for one instant tells always. One could get it wrong by asking per run: a
//! machine that is busy for a day would tell of each minute. The same goes for a job that is cut off again and again, until a
//! run of it has ended by itself.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::decide::{Announcement, SETTLED_MS, announce_missed};
use rouse_core::job::{Job, ScheduleSpec};
use rouse_core::{Cause, DeliveryId, JobId, Outcome, Run, RunId, RunState};
use rouse_store::{StoreError, ToldMissed};

use crate::engine::Engine;

impl Engine {
    /// What is told of those of these runs that a claim finds missed.
    pub(crate) async fn tell_missed<'r>(
        &self,
        runs: impl Iterator<Item = (&'r Arc<Job>, &'r Run)>,
    ) -> Result<Vec<ToldMissed>, StoreError> {
        let missed: Vec<_> = runs.filter(|(_, run)| run.state == RunState::Missed).collect();
        if missed.is_empty() {
            return Ok(Vec::new());
        }
        let silent =
            self.silent_of(missed.iter().map(|(job, _)| &***job), RunState::Missed).await?;
        let loud = missed.into_iter().filter(|(job, _)| !silent.contains(&job.id));
        let told = |(job, run): (&Arc<Job>, &Run)| {
            let Announcement { deliveries, system_event } =
                self.told(job, run, run.reason.as_deref());
            ToldMissed { run_id: run.id.clone(), deliveries, system_event }
        };
        Ok(loud.map(told).collect())
    }

    /// What is told of a run that has waited for its place and ends with `outcome`.
    pub(crate) async fn tell_wait_end(
        &self,
        id: &RunId,
        outcome: &Outcome,
    ) -> Result<Announcement, StoreError> {
        if outcome.state != RunState::Missed {
            return Ok(Announcement::default());
        }
        let Some(run) = self.store.run(id).await? else { return Ok(Announcement::default()) };
        let Some(job) = self.job_of(&run).await? else { return Ok(Announcement::default()) };
        if self.is_silent(&job, RunState::Missed).await? {
            return Ok(Announcement::default());
        }
        Ok(self.told(&job, &run, outcome.reason.as_deref()))
    }

    /// What the lines fire that are queued for the main session with a claim.
    pub(crate) fn lines_of<'r>(
        &self,
        told: &[ToldMissed],
        runs: impl Iterator<Item = &'r Run>,
    ) -> Vec<Cause> {
        if told.is_empty() || self.listeners.is_empty() {
            return Vec::new();
        }
        let now = self.clock.now();
        let line = |run: &Run| {
            let told = told.iter().find(|told| told.run_id == run.id)?;
            Cause::line_of_run(run, told.system_event.as_deref()?, None, now)
        };
        runs.filter_map(line).collect()
    }

    /// Whether the job has said already that a run of it ended as `state`.
    pub(crate) async fn is_silent(&self, job: &Job, state: RunState) -> Result<bool, StoreError> {
        Ok(self.silent_of(std::iter::once(job), state).await?.contains(&job.id))
    }

    /// Those of the jobs that have said so already.
    async fn silent_of<'j>(
        &self,
        jobs: impl Iterator<Item = &'j Job>,
        state: RunState,
    ) -> Result<HashSet<JobId>, StoreError> {
        let again = jobs.filter(|job| !matches!(job.schedule.spec, ScheduleSpec::At { .. }));
        let again: Vec<JobId> = again.map(|job| job.id.clone()).collect();
        if again.is_empty() {
            return Ok(HashSet::new());
        }
        let now = self.clock.now();
        let since = now.plus_ms(-SETTLED_MS);
        let silent = match state {
            RunState::Interrupted => self.store.were_cut_off(&again, since, now).await?,
            _ => self.store.have_missed(&again, since, now).await?,
        };
        Ok(silent.into_iter().collect())
    }

    fn told(&self, job: &Job, run: &Run, reason: Option<&str>) -> Announcement {
        let key = DeliveryId::generate(self.clock.now());
        announce_missed(job, run, reason.unwrap_or("No details"), self.zones.local(), key)
    }
}
