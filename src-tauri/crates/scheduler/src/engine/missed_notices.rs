//! Notifications of missed slots, and whether an interrupted run is announced.
//!
//! A job that misses slot after slot is announced once, until a run or until no slot was missed for as long as an
//! incident takes to resolve. A one-shot job is always announced. The same holds for a job whose runs are interrupted
//! again and again.
//! Pitfall: a decision per run announces every minute of a busy day.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::decide::{Announcement, SETTLED_MS, announce_missed};
use rouse_core::job::{Job, ScheduleSpec};
use rouse_core::{Cause, DeliveryId, JobId, Outcome, Run, RunState};
use rouse_store::{MissedSlotNotice, StoreError};

use super::Engine;

impl Engine {
    /// The announcements of the missed runs of a claim.
    pub(super) async fn missed_notices<'r>(
        &self,
        runs: impl Iterator<Item = (&'r Arc<Job>, &'r Run)>,
    ) -> Result<Vec<MissedSlotNotice>, StoreError> {
        let missed: Vec<_> = runs.filter(|(_, run)| run.state == RunState::Missed).collect();
        if missed.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = missed.iter().map(|(job, _)| &***job);
        let announced = self.jobs_announced_as(jobs, RunState::Missed).await?;
        let new = missed.into_iter().filter(|(job, _)| !announced.contains(&job.id));
        let notices = new.map(|(job, run)| {
            let reason = run.reason.as_deref();
            let Announcement { deliveries, system_event } = self.announce_missed(job, run, reason);
            MissedSlotNotice { run_id: run.id.clone(), deliveries, system_event }
        });
        Ok(notices.collect())
    }

    /// The announcement of a queued run that ends as missed.
    pub(super) async fn missed_notice(
        &self,
        run: &Run,
        outcome: &Outcome,
    ) -> Result<Announcement, StoreError> {
        match self.job_of(run).await? {
            Some(job) if !self.was_announced_as(&job, RunState::Missed).await? => {
                Ok(self.announce_missed(&job, run, outcome.reason.as_deref()))
            }
            _ => Ok(Announcement::default()),
        }
    }

    /// The system events of a claim's notices, as events for other jobs.
    pub(super) fn missed_notice_causes<'r>(
        &self,
        notices: &[MissedSlotNotice],
        runs: impl Iterator<Item = &'r Run>,
    ) -> Vec<Cause> {
        if notices.is_empty() || self.listeners.is_empty() {
            return Vec::new();
        }
        let now = self.clock.now();
        let cause = |run: &Run| {
            let notice = notices.iter().find(|notice| notice.run_id == run.id)?;
            Cause::system_event_of_run(run, notice.system_event.as_deref()?, None, now)
        };
        runs.filter_map(cause).collect()
    }

    /// Whether an earlier run of the job was announced as missed or interrupted, and no other run has ended since.
    pub(super) async fn was_announced_as(
        &self,
        job: &Job,
        state: RunState,
    ) -> Result<bool, StoreError> {
        Ok(self.jobs_announced_as(std::iter::once(job), state).await?.contains(&job.id))
    }

    async fn jobs_announced_as<'j>(
        &self,
        jobs: impl Iterator<Item = &'j Job>,
        state: RunState,
    ) -> Result<HashSet<JobId>, StoreError> {
        let recurring = jobs.filter(|job| !matches!(job.schedule.spec, ScheduleSpec::At { .. }));
        let recurring: Vec<JobId> = recurring.map(|job| job.id.clone()).collect();
        if recurring.is_empty() {
            return Ok(HashSet::new());
        }
        let now = self.clock.now();
        let since = now.plus_ms(-SETTLED_MS);
        let announced = match state {
            RunState::Interrupted => {
                self.store.recently_interrupted_jobs(&recurring, since, now).await?
            }
            _ => self.store.recently_missed_jobs(&recurring, since, now).await?,
        };
        Ok(announced.into_iter().collect())
    }

    fn announce_missed(&self, job: &Job, run: &Run, reason: Option<&str>) -> Announcement {
        let key = DeliveryId::generate(self.clock.now());
        let zone = self.zones.zones.local();
        let reason = reason.unwrap_or("No details");
        announce_missed(job, run, reason, zone, key, &self.channels.now())
    }
}
