//! Retries as in the engine: over crashes, pauses and busy permits.
//!
//! A retry is no slot: the run stays open without another row.
//! Pitfall: the attempt number must survive a crash.

use rouse_core::decide::{Firing, refuse_attempt, refuse_attempt_after_stop, retry_after_ms};
use rouse_core::run::AbandonedRetries;
use rouse_core::{Outcome, RunState, UnixMs};

use super::life::{lane, run_id, run_of};
use super::{SimBackoff, SimRow, SimWorld, Violation, ensure};

/// The backoff doubles up to this, before up to a quarter of random delay.
const LONGEST: i64 = 3_600_000;

impl SimWorld {
    pub(super) fn firing(&self) -> Firing {
        if self.is_paused() { Firing::Off("paused".to_owned()) } else { Firing::On }
    }

    /// Whether the failed run gets another attempt.
    pub(super) fn begin_backoff(&mut self, id: u64) -> Result<bool, Violation> {
        let row = &self.open[&id];
        let job = self.jobs.get(&row.job).map(|sim| &sim.job);
        let runtime = job.and_then(|job| job.runtime.as_ref());
        let pause = retry_after_ms(runtime, row.attempt, &run_id(id));
        let is_refused = refuse_attempt(job, &run_of(id, row), &self.firing()).is_some();
        let Some(whole) = pause.filter(|_| !is_refused) else { return Ok(false) };
        let whole = i64::try_from(whole).expect("short");
        let most = runtime.and_then(|runtime| runtime.max_attempts).unwrap_or(1);
        ensure!(row.attempt < most, "run {id} of {most} attempts fails {} times", row.attempt);
        let first = runtime.and_then(|runtime| runtime.retry_backoff_ms).unwrap_or_default();
        let longest = LONGEST.max(i64::try_from(first).expect("a day at most"));
        ensure!((1..=longest / 4 * 5).contains(&whole), "run {id} waits for {whole} ms");
        let (permit, until) = (self.started[&id], self.now + whole);
        self.open.get_mut(&id).expect("there").waits = Some(SimBackoff { until, whole });
        self.working.remove(&id);
        self.resting.insert(id, whole);
        self.lanes.release_permit(permit);
        Ok(true)
    }

    /// Queues the runs past their backoff, the longest first, and starts as many retries as there are permits.
    pub(super) fn start_retries(&mut self) -> Result<(), Violation> {
        let over = self.resting.iter().filter(|(_, left)| **left <= 0);
        let mut over: Vec<(i64, u64)> = over.map(|(id, left)| (*left, *id)).collect();
        over.sort_unstable();
        for (_, id) in over {
            if self.resuming.insert(id) {
                self.lanes.queue_resuming(self.started[&id], run_id(id));
            }
        }
        while let Some((permit, id)) = self.lanes.take_resumable() {
            let id: u64 = id.as_str().parse().expect("a number");
            if !self.resuming.remove(&id) || !self.resting.contains_key(&id) {
                self.lanes.release_permit(permit);
                continue;
            }
            let row = self.open.get_mut(&id).ok_or_else(|| format!("run {id} is over"))?;
            ensure!(row.waits.take().is_some(), "run {id} tries again without a wait");
            row.attempt += 1;
            self.attempts += 1;
            self.resting.remove(&id);
            self.work_on(id);
        }
        self.check_permits()
    }

    /// Fails runs in backoff that get no retry.
    pub(super) fn abandon_backoffs(
        &mut self,
        goes: impl Fn(&SimRow) -> bool,
    ) -> Result<(), Violation> {
        let ids = self.resting.keys().copied().filter(|id| goes(&self.open[id]));
        ids.collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|id| self.abandon(id, AbandonedRetries::Suspended))
    }

    pub(super) fn abandon(
        &mut self,
        id: u64,
        abandoned_retries: AbandonedRetries,
    ) -> Result<(), Violation> {
        self.resting.remove(&id);
        let row = self.close(id)?;
        self.lanes.leave(&lane(row.job));
        let outcome =
            Outcome { abandoned_retries: Some(abandoned_retries), ..Outcome::of(RunState::Failed) };
        self.apply_outcome(id, &row, &outcome)?;
        self.fire(id, &row, RunState::Failed)
    }

    /// Restores a backoff. Returns whether the retry is refused.
    pub(super) fn restore_backoff(&mut self, id: u64, row: &SimRow, wait: SimBackoff) -> bool {
        let sim = self.jobs.get(&row.job);
        let (job, width) = (sim.map(|sim| &sim.job), sim.map_or(1, super::job::SimJob::width));
        let (due, now) = (UnixMs(wait.until), UnixMs(self.now));
        let refused =
            refuse_attempt_after_stop(job, &run_of(id, row), &self.firing(), due, now).is_some();
        self.lanes.hold(lane(row.job), width);
        self.resting.insert(id, (wait.until - self.now).clamp(0, wait.whole));
        refused
    }
}
