//! Further attempts of runs that have failed, as the engine makes them: over crashes, pauses and places that are taken.
//!
//! An attempt is never a slot of its own: its run stays open and no other row is made. One could get it wrong by letting
//! a run forget over a crash which attempt it was at.

use rouse_core::decide::{Firing, refuse_attempt, refuse_attempt_after_stop, retry_after_ms};
use rouse_core::run::GivenUp;
use rouse_core::{Outcome, RunState, UnixMs};

use super::life::{lane, run_id, run_of};
use super::{Broken, Row, Wait, World, hold};

/// Up to here a pause between two attempts doubles, before what the run adds: a quarter at most.
const LONGEST: i64 = 3_600_000;

impl World {
    pub(super) fn firing(&self) -> Firing {
        if self.is_paused() { Firing::Off("paused".to_owned()) } else { Firing::On }
    }

    /// Whether the run that has just failed waits for another attempt.
    pub(super) fn waits_for_next_attempt(&mut self, id: u64) -> Result<bool, Broken> {
        let row = &self.open[&id];
        let job = self.jobs.get(&row.job).map(|sim| &sim.job);
        let runtime = job.and_then(|job| job.runtime.as_ref());
        let pause = retry_after_ms(runtime, row.attempt, &run_id(id));
        let is_refused = refuse_attempt(job, &run_of(id, row), &self.firing()).is_some();
        let Some(whole) = pause.filter(|_| !is_refused) else { return Ok(false) };
        let whole = i64::try_from(whole).expect("short");
        let most = runtime.and_then(|runtime| runtime.max_attempts).unwrap_or(1);
        hold!(row.attempt < most, "run {id} of {most} attempts fails {} times", row.attempt);
        let first = runtime.and_then(|runtime| runtime.retry_backoff_ms).unwrap_or_default();
        let longest = LONGEST.max(i64::try_from(first).expect("a day at most"));
        hold!((1..=longest / 4 * 5).contains(&whole), "run {id} waits for {whole} ms");
        let (rank, until) = (self.started[&id], self.now + whole);
        self.open.get_mut(&id).expect("there").waits = Some(Wait { until, whole });
        self.working.remove(&id);
        self.resting.insert(id, whole);
        self.lanes.rest(rank);
        Ok(true)
    }

    /// Queues the runs whose wait is over, the longest over first, and begins as many attempts as there are permits.
    pub(super) fn begin_next_attempts(&mut self) -> Result<(), Broken> {
        let over = self.resting.iter().filter(|(_, left)| **left <= 0);
        let mut over: Vec<(i64, u64)> = over.map(|(id, left)| (*left, *id)).collect();
        over.sort_unstable();
        for (_, id) in over {
            if self.resuming.insert(id) {
                self.lanes.queue_resuming(self.started[&id], run_id(id));
            }
        }
        while let Some((rank, id)) = self.lanes.take_resumable() {
            let id: u64 = id.as_str().parse().expect("a number");
            if !self.resuming.remove(&id) || !self.resting.contains_key(&id) {
                self.lanes.rest(rank);
                continue;
            }
            let row = self.open.get_mut(&id).ok_or_else(|| format!("run {id} is over"))?;
            hold!(row.waits.take().is_some(), "run {id} tries again without a wait");
            row.attempt += 1;
            self.attempts += 1;
            self.resting.remove(&id);
            self.work_on(id);
        }
        self.check_places()
    }

    /// Ends what waits for another attempt and shall get none.
    pub(super) fn give_up_waits(&mut self, goes: impl Fn(&Row) -> bool) -> Result<(), Broken> {
        let ids = self.resting.keys().copied().filter(|id| goes(&self.open[id]));
        ids.collect::<Vec<_>>().into_iter().try_for_each(|id| self.give_up(id, GivenUp::KeptBack))
    }

    pub(super) fn give_up(&mut self, id: u64, given_up: GivenUp) -> Result<(), Broken> {
        self.resting.remove(&id);
        let row = self.close(id)?;
        self.lanes.finished_at_rest(&lane(row.job));
        let outcome = Outcome { given_up: Some(given_up), ..Outcome::of(RunState::Failed) };
        self.tell_job(id, &row, &outcome)?;
        self.fire(id, &row, RunState::Failed)
    }

    /// A wait that an earlier life has left; answers whether it is for nothing.
    pub(super) fn take_up_wait(&mut self, id: u64, row: &Row, wait: Wait) -> bool {
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
