//! Between two attempts of a run.
//!
//! A wait is in the store before it counts: the next start finds what has failed and when the next attempt is due, and goes
//! on from there. Whether there is a next attempt is asked when the last one has failed, when its job is changed, and again
//! after a stop; whatever switches firing off ends the waits that there are (`skip_waiting`). The attempt is counted before
//! it begins, so that none is made twice. A wait for a model or a rate limit takes the same way and ends no attempt. One could get it wrong by looking only when the wait is over: a pause of a minute
//! would be forgotten by then, and what was told to stop would begin again.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::decide::{refuse_attempt, refuse_attempt_after_stop};
use rouse_core::job::Job;
use rouse_core::run::GivenUp;
use rouse_core::{JobId, Run, RunId, RunTrigger};
use rouse_store::{Backoff, StoreError};
use tokio_util::sync::CancellationToken;

use crate::attempt::{Running, Wait, Work, milliseconds};
use crate::engine::Engine;
use crate::execute::{lane_of, lane_width};

impl Engine {
    /// Writes down the waits that have begun, or ends their runs where there is no further attempt.
    pub(crate) async fn keep_waits(&mut self) -> Result<(), StoreError> {
        let new = self.running.iter().filter(|(_, running)| running.new_wait().is_some());
        let new: Vec<RunId> = new.map(|(id, _)| id.clone()).collect();
        for id in new {
            self.keep_wait(&id).await?;
        }
        Ok(())
    }

    async fn keep_wait(&mut self, id: &RunId) -> Result<(), StoreError> {
        let Some(running) = self.running.get(id) else { return Ok(()) };
        let Some(wait) = running.new_wait() else { return Ok(()) };
        // One that has removed its job goes on as that job was.
        let job = match running.outlives_job {
            true => running.job.as_deref().cloned(),
            false => self.job_of(&running.run).await?,
        };
        let now = self.clock.now();
        let refused = refuse_attempt(job.as_ref(), &running.run, &self.firing_at(now));
        if refused.is_none() {
            let mut failure = (*wait.failure).clone();
            failure.usage = running.spent();
            let left = milliseconds(wait.until.saturating_sub(self.clock.monotonic()));
            let backoff = Backoff {
                run_id: id.clone(),
                failure,
                for_ms: milliseconds(wait.backoff),
                until: now.plus_ms(left),
                waits_for: running.run.waits_for,
                worked_ms: running.run.worked_ms,
            };
            self.store.back_off(&backoff, now).await?;
        }
        if let Some(running) = self.running.get_mut(id) {
            match refused {
                Some(why) => running.gives_up(&why, GivenUp::KeptBack),
                None => running.wait_is_kept(),
            }
        }
        Ok(())
    }

    /// Lets the runs whose wait is over queue for a permit, and begins as many attempts as there are permits.
    pub(crate) async fn begin_next_attempts(&mut self) -> Result<(), StoreError> {
        self.queue_waits_that_are_over();
        while let Some((rank, id)) = self.lanes.take_resumable() {
            let Some(running) = self.running.get_mut(&id).filter(|running| running.is_queued())
            else {
                self.lanes.rest(rank);
                continue;
            };
            running.is_queued = false;
            let attempt = running.run.attempt + u32::from(running.run.waits_for.is_none());
            if let Err(error) = self.store.set_attempt(&id, attempt, self.clock.now()).await {
                self.lanes.rest(rank);
                return Err(error);
            }
            let Some(mut running) = self.running.remove(&id) else { continue };
            running.run.attempt = attempt;
            running.has_place = true;
            let Running { run, job, cancel, .. } = &running;
            let begun = self.begin_attempt(run, job.as_deref(), cancel);
            running.tries_again(begun, self.clock.monotonic());
            self.running.insert(id, running);
        }
        Ok(())
    }

    fn queue_waits_that_are_over(&mut self) {
        let now = self.clock.monotonic();
        let due = self.running.iter().filter_map(|(id, running)| {
            running.resumes_at().filter(|at| *at <= now).map(|at| (at, id.clone()))
        });
        let mut due: Vec<(Duration, RunId)> = due.collect();
        due.sort();
        for (_, id) in due {
            if let Some(running) = self.running.get_mut(&id) {
                running.is_queued = true;
                self.lanes.queue_resuming(running.rank, id);
            }
        }
    }

    /// Ends the runs that wait for their next attempt and are nobody's by hand: those of one job, or all.
    pub(crate) fn give_up_waits(&mut self, job: Option<&JobId>, why: &str) {
        for running in self.running.values_mut() {
            let is_of_job = job.is_none_or(|job| running.run.job_id.as_ref() == Some(job));
            let is_by_hand = matches!(running.run.trigger, RunTrigger::Manual | RunTrigger::Chat);
            if is_of_job && !is_by_hand {
                running.gives_up(why, GivenUp::KeptBack);
            }
        }
    }

    /// Ends the runs that wait for an attempt which their job, as it was changed, does not let begin.
    pub(crate) fn refuse_waits_of(&mut self, job: &Job) {
        let firing = self.firing_at(self.clock.now());
        for running in self.begun_runs_of(&job.id) {
            if let Some(why) = refuse_attempt(Some(job), &running.run, &firing) {
                running.gives_up(&why, GivenUp::KeptBack);
            }
        }
    }

    /// Takes up a run that an earlier life has left between two attempts. The wait is as long as the wall clock says, and
    /// no longer than it was meant to be, should that have been set back.
    pub(crate) fn take_up_wait(&mut self, run: Run, job: Option<Arc<Job>>, backoff: Backoff) {
        let now = self.clock.now();
        let firing = self.firing_at(now);
        let refused = refuse_attempt_after_stop(job.as_deref(), &run, &firing, backoff.until, now);
        let whole = backoff.for_ms.max(0);
        let left = backoff.until.since(now).clamp(0, whole);
        let monotonic = self.clock.monotonic();
        let wait = Wait {
            until: monotonic + Duration::from_millis(left.unsigned_abs()),
            backoff: Duration::from_millis(whole.unsigned_abs()),
            failure: Box::new(backoff.failure),
            is_kept: true,
        };
        let (id, lane) = (run.id.clone(), lane_of(&run));
        self.lanes.hold(lane.clone(), job.as_deref().map_or(1, lane_width));
        let at = (Work::Backoff(wait), CancellationToken::new());
        let mut running = Running::new(run, lane, job, at, monotonic);
        if let Some(why) = refused {
            running.gives_up(&why, GivenUp::KeptBack);
        }
        self.running.insert(id, running);
    }
}
