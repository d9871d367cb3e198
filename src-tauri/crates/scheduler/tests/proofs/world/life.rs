//! Process lives: ticks, lanes, ends, crashes and starts, as in the engine.

use rouse_core::decide::{
    DueSlot, InterruptedCalls, JobEffect, Recovery, decide_job_effect, plan_claim, recover,
    too_late_to_start,
};
use rouse_core::run::AbandonedRetries;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_scheduler::lanes::{LaneKey, Lanes, Startable};
use rouse_scheduler::permits::PermitKind;

use super::job::SimJob;
use super::rules::LIMIT;
use super::shape::{HOUR, MINUTE, ScheduleShape};
use super::{SimRow, SimWorld, Violation, ensure};

impl SimWorld {
    /// Lets time pass. A running process acts at every due instant.
    pub(super) fn pass(&mut self, span: i64) -> Result<(), Violation> {
        let mut left = span;
        while self.is_up {
            let next = self.jobs.values().filter_map(SimJob::next).min();
            let at = next.into_iter().chain(self.pause.and_then(|pause| pause.until)).min();
            let due = at.map(|at| at - self.now);
            let end = self.working.values().min().copied();
            // A due retry waits for a permit, which others must free.
            let attempt = self.resting.values().copied().filter(|left| *left > 0).min();
            let Some(wait) =
                due.into_iter().chain(end).chain(attempt).min().filter(|wait| *wait <= left)
            else {
                break;
            };
            self.elapse(wait.max(0));
            left -= wait.max(0);
            self.end_due_runs()?;
            self.tick()?;
        }
        self.elapse(left);
        Ok(())
    }

    fn elapse(&mut self, span: i64) {
        self.now += span;
        self.working.values_mut().for_each(|left| *left -= span);
        self.resting.values_mut().for_each(|left| *left -= span);
        self.count_days();
    }

    pub(super) fn end_due_runs(&mut self) -> Result<(), Violation> {
        let over = self.working.iter().filter(|(_, left)| **left <= 0).map(|(run, _)| *run);
        for run in over.collect::<Vec<_>>() {
            let states =
                [RunState::Succeeded, RunState::Succeeded, RunState::Failed, RunState::TimedOut];
            let state = *self.dice.pick(&states);
            if !(state == RunState::Failed && self.begin_backoff(run)?) {
                self.end(run, state)?;
            }
        }
        self.start_retries()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause.is_some_and(|pause| pause.until.is_none_or(|until| until > self.now))
    }

    /// Claims due slots and starts runs; no next slot may lie in the past. After an unseen end of a pause, only slots
    /// before that end are skipped.
    pub(super) fn tick(&mut self) -> Result<(), Violation> {
        let end = self.pause.and_then(|pause| pause.until);
        if let Some(until) = end.filter(|until| *until <= self.now) {
            let now = std::mem::replace(&mut self.now, until - 1);
            let claimed = self.claim_due();
            self.now = now;
            claimed?;
            self.pause = None;
        }
        self.claim_due()?;
        for (number, sim) in &self.jobs {
            let next = sim.next();
            ensure!(next.is_none_or(|next| next > self.now), "job {number} stays due at {next:?}");
        }
        self.start_startable()
    }

    fn claim_due(&mut self) -> Result<(), Violation> {
        let mut due: Vec<_> = self
            .jobs
            .iter()
            .filter_map(|(number, sim)| Some((sim.next()?, *number)))
            .filter(|(next, _)| *next <= self.now)
            .collect();
        due.sort_unstable();
        for (slot, number) in due {
            self.claim(number, slot)?;
        }
        Ok(())
    }

    fn claim(&mut self, number: usize, slot: i64) -> Result<(), Violation> {
        let firing = self.firing();
        self.reset_idle_bounds(number);
        let now = self.now;
        let sim = &self.jobs[&number];
        let (queued, active) = self.load_for_slot(number);
        let last_run_at = sim.cooldown_start().map(UnixMs);
        let slot_at = UnixMs(slot);
        let (job, slots) = (&sim.job, &sim.slots);
        let due = DueSlot { job, slots, slot: slot_at, queued, active, last_run_at };
        let plan = plan_claim(due, UnixMs(now), &firing);
        self.check_claim(number, slot, (queued, active), &plan)?;
        let rules = self.data.rules;
        self.skipped += if self.is_paused() { plan.runs.len() } else { 0 };
        let sim = self.jobs.get_mut(&number).expect("there");
        (sim.job.state.next_run_at, sim.job.state.decided) = (plan.next_run_at, plan.decided);
        // A slot planned by unknown rules has no known date.
        let was_mixed = std::mem::take(&mut sim.is_mixed);
        let (width, cooldown) = (sim.width(), sim.job.policies.cooldown_seconds);
        let mut claimed = Vec::new();
        for run in &plan.runs {
            let stands_at = sim.stands_at(run.slot_at.0);
            let is_known = !sim.recorded.insert(stands_at);
            // The disk takes no instant twice.
            let is_new = sim.instants.insert(run.slot_at.0);
            ensure!(
                is_new != is_known || stands_at <= sim.seen_until,
                "slot {stands_at} of job {number}, known: {is_known}, at {}, new: {is_new}",
                run.slot_at.0
            );
            let is_again = is_new && !was_mixed && !sim.shows_first_time(stands_at, rules);
            ensure!(
                !is_again || stands_at <= sim.seen_until,
                "job {number} {:?} fires a second time on one date: {}",
                sim.shape,
                run.slot_at.0
            );
            if is_new {
                claimed.push((run.slot_at.0, run.trigger, run.state));
            }
        }
        sim.settle_kept(slot, was_mixed, rules, now);
        sim.cover(now);
        let replaced = if plan.cancel_others && !claimed.is_empty() {
            self.replace_runs_of(number)?
        } else {
            Vec::new()
        };
        for (slot, trigger, state) in claimed {
            self.made += 1;
            if state == RunState::Queued {
                let row = SimRow { cooldown, ..SimRow::new(number, Some(slot), trigger) };
                self.enqueue(row, width);
            } else {
                ensure!(matches!(state, RunState::Skipped | RunState::Missed), "{state:?}");
                self.ended += 1;
            }
        }
        self.end_replaced(replaced)?;
        self.check_overlap(number)
    }

    pub(super) fn enqueue(&mut self, row: SimRow, width: usize) {
        self.reset_idle_bounds(row.job);
        let id = self.made;
        self.lanes.enqueue(lane(row.job), width, PermitKind::from(row.trigger), run_id(id), ());
        self.open.insert(id, row);
    }

    pub(super) fn start_startable(&mut self) -> Result<(), Violation> {
        loop {
            self.start_retries()?;
            let startable = self.lanes.take_startable();
            if startable.is_empty() {
                return self.check_permits();
            }
            for Startable { id, lane, permit, .. } in startable {
                let id: u64 = id.as_str().parse().expect("a number");
                if self.is_in_time(id)? {
                    self.begin(id, permit)?;
                } else {
                    self.lanes.finish(&lane, permit);
                    self.close(id)?;
                }
            }
        }
    }

    /// Whether a run with a permit may start.
    fn is_in_time(&self, id: u64) -> Result<bool, Violation> {
        let row = self.open.get(&id).ok_or_else(|| format!("run {id} starts after its end"))?;
        let Some(sim) = self.jobs.get(&row.job).filter(|_| !row.is_manual()) else {
            return Ok(true);
        };
        Ok(too_late_to_start(&sim.job, &run_of(id, row), UnixMs(self.now)).is_none())
    }

    fn begin(&mut self, id: u64, permit: PermitKind) -> Result<(), Violation> {
        let row = self.open.get_mut(&id).ok_or_else(|| format!("run {id} is not open"))?;
        ensure!(row.state == RunState::Queued, "run {id} starts as {:?}", row.state);
        ensure!(self.started.insert(id, permit).is_none(), "run {id} started twice");
        row.state = RunState::Running;
        let row = row.clone();
        if let (Some(sim), Some(slot)) = (self.jobs.get(&row.job), row.slot) {
            self.check_lateness(sim, slot)?;
            self.check_gap(sim, &row)?;
        }
        if let Some(sim) = self.jobs.get_mut(&row.job) {
            sim.job.state.last_run_at = Some(UnixMs(self.now));
            sim.started_at = row.slot.map_or(sim.started_at, |_| Some(self.now));
            if row.is_for_slot() {
                sim.for_slot_at = Some(self.now);
            }
        }
        self.work_on(id);
        Ok(())
    }

    pub(super) fn work_on(&mut self, id: u64) {
        let most = *self.dice.pick(&[MINUTE, 30 * MINUTE, 30 * HOUR]);
        self.working.insert(id, self.dice.between(1, most));
    }

    /// Ends an active run, with the effects on the job.
    pub(super) fn end(&mut self, id: u64, state: RunState) -> Result<(), Violation> {
        let row = self.close(id)?;
        match self.resting.remove(&id) {
            Some(_) => self.lanes.leave(&lane(row.job)),
            None => {
                self.working.remove(&id);
                self.lanes.finish(&lane(row.job), self.started[&id]);
            }
        }
        self.apply_outcome(id, &row, &Outcome::of(state))?;
        self.fire(id, &row, state)
    }

    /// Applies the job_effect that an outcome gives the job.
    pub(super) fn apply_outcome(
        &mut self,
        id: u64,
        row: &SimRow,
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        let slot_is_open =
            self.open.values().any(|other| other.job == row.job && other.is_for_slot());
        let Some(sim) = self.jobs.get_mut(&row.job) else { return Ok(()) };
        let job_effect = decide_job_effect(&sim.job, &run_of(id, row), outcome, slot_is_open);
        let is_once = matches!(sim.shape, ScheduleShape::Once(_));
        ensure!(
            !(is_once && row.is_manual() && slot_is_open && job_effect == JobEffect::Delete),
            "a manual run deletes job {}, and the run for the slot is open",
            row.job
        );
        let state = outcome.state;
        if state.is_failure() {
            sim.job.state.consecutive_failures += 1;
        } else if state == RunState::Succeeded {
            sim.job.state.consecutive_failures = 0;
        }
        match job_effect {
            JobEffect::Keep => Ok(()),
            JobEffect::Delete => self.delete(row.job),
            JobEffect::Pause(_) => {
                sim.job.enabled = false;
                sim.job.state.next_run_at = None;
                self.skip_queued(Some(row.job))
            }
        }
    }

    pub(super) fn close(&mut self, id: u64) -> Result<SimRow, Violation> {
        self.ended += 1;
        self.open.remove(&id).ok_or_else(|| format!("run {id} ended twice"))
    }

    pub(super) fn delete(&mut self, number: usize) -> Result<(), Violation> {
        self.jobs.remove(&number);
        self.end_runs_of(number)
    }

    fn end_runs_of(&mut self, number: usize) -> Result<(), Violation> {
        let rests = self.replace_runs_of(number)?;
        rests.into_iter().try_for_each(|id| self.end(id, RunState::Cancelled))
    }

    /// Ends the queued and active runs of a job. Returns the runs in backoff, which have failed.
    pub(super) fn replace_runs_of(&mut self, number: usize) -> Result<Vec<u64>, Violation> {
        for run in self.lanes.remove_from(&lane(number), |()| true) {
            self.close(run.as_str().parse().expect("a number"))?;
        }
        let of_job = |id: &u64| self.open[id].job == number;
        let at_work: Vec<u64> = self.working.keys().copied().filter(of_job).collect();
        let rests = self.resting.keys().copied().filter(of_job).collect();
        at_work.into_iter().try_for_each(|id| self.end(id, RunState::Cancelled))?;
        Ok(rests)
    }

    /// Fails runs that were replaced in a backoff, after the newer run is queued.
    pub(super) fn end_replaced(&mut self, replaced: Vec<u64>) -> Result<(), Violation> {
        for id in replaced {
            // Ended by another end already.
            if self.resting.contains_key(&id) {
                self.abandon(id, AbandonedRetries::Superseded)?;
            }
        }
        Ok(())
    }

    /// Skips scheduled runs that have not started.
    pub(super) fn skip_queued(&mut self, job: Option<usize>) -> Result<(), Violation> {
        let waits = |row: &SimRow| row.state == RunState::Queued && !row.is_manual();
        let of_job = |row: &SimRow| job.is_none_or(|job| row.job == job);
        let ids = self.open.iter().filter(|(_, row)| waits(row) && of_job(row)).map(|(id, _)| *id);
        for id in ids.collect::<Vec<_>>() {
            ensure!(self.lanes.remove(&run_id(id)).is_some(), "run {id} waits in no lane");
            self.close(id)?;
        }
        self.abandon_backoffs(|row| of_job(row) && !row.is_manual())
    }

    /// The process has crashed; only the disk is left.
    pub(super) fn crash(&mut self) {
        self.is_up = false;
        self.working.clear();
        self.resting.clear();
        self.resuming.clear();
        self.lanes = Lanes::new(LIMIT);
    }

    pub(super) fn start(&mut self) -> Result<(), Violation> {
        self.is_up = true;
        let left: Vec<(u64, SimRow)> =
            self.open.iter().map(|(id, row)| (*id, row.clone())).collect();
        let mut refused = Vec::new();
        let begun = || left.iter().filter(|(_, row)| row.state == RunState::Running);
        for (id, row) in begun() {
            if let Some(wait) = row.waits
                && self.restore_backoff(*id, row, wait)
            {
                refused.push(*id);
            }
        }
        for (id, row) in begun().filter(|(_, row)| row.waits.is_none()) {
            self.recover_interrupted(*id, row)?;
        }
        for (id, row) in left.into_iter().filter(|(_, row)| row.state == RunState::Queued) {
            if self.open.contains_key(&id) {
                self.recover_queued(id, &row)?;
            }
        }
        // An end may pause the job, which applies to runs in their lanes.
        for id in refused {
            if self.resting.contains_key(&id) {
                self.abandon(id, AbandonedRetries::Suspended)?;
            }
        }
        if std::mem::take(&mut self.has_new_rules) {
            let now = self.now;
            self.jobs.values_mut().for_each(|sim| sim.start_with_rules(&self.data, now));
        }
        self.catch_up()
    }

    fn recover_interrupted(&mut self, id: u64, row: &SimRow) -> Result<(), Violation> {
        self.close(id)?;
        let had_effect = self.dice.once_in(3);
        let calls =
            if had_effect { InterruptedCalls::Unrepeatable } else { InterruptedCalls::Repeatable };
        let sim = self.jobs.get(&row.job);
        let run = run_of(id, row);
        let again = !self.is_paused()
            && recover(sim.map(|sim| &sim.job), &run, calls, UnixMs(self.now)) == Recovery::Rerun;
        ensure!(!(again && (row.is_again || had_effect)), "run {id} is caught up in a loop");
        if let (true, Some(sim)) = (again, sim) {
            let width = sim.width();
            self.made += 1;
            let (cause, catch_up_slot_at) = (row.cause.clone(), row.slot);
            let again = SimRow {
                is_again: true,
                catch_up_slot_at,
                cause,
                ..SimRow::new(row.job, None, RunTrigger::CatchUp)
            };
            self.enqueue(again, width);
            return Ok(());
        }
        // With a catch-up run, only that run's end fires follow-ups.
        self.fire(id, row, RunState::Interrupted)
    }

    fn recover_queued(&mut self, id: u64, row: &SimRow) -> Result<(), Violation> {
        let now = UnixMs(self.now);
        let is_wanted = match self.jobs.get(&row.job) {
            None => false,
            Some(_) if row.is_manual() => true,
            Some(sim) => {
                let run = run_of(id, row);
                !self.is_paused()
                    && sim.job.enabled
                    && too_late_to_start(&sim.job, &run, now).is_none()
            }
        };
        match self.jobs.get(&row.job) {
            Some(sim) if is_wanted => {
                let permit = PermitKind::from(row.trigger);
                self.lanes.enqueue(lane(row.job), sim.width(), permit, run_id(id), ());
                Ok(())
            }
            _ => self.close(id).map(drop),
        }
    }

    /// Claims due slots, and advances slots after a rollback.
    pub(super) fn catch_up(&mut self) -> Result<(), Violation> {
        self.end_due_runs()?;
        self.tick()?;
        if !std::mem::take(&mut self.was_set) {
            return Ok(());
        }
        let (now, rules) = (self.now, self.data.rules);
        self.jobs.values_mut().for_each(|sim| sim.advance_after_rollback(now, rules));
        Ok(())
    }
}

pub(super) fn lane(job: usize) -> LaneKey {
    LaneKey::Job(JobId::new(job.to_string()))
}

pub(super) fn run_id(id: u64) -> RunId {
    RunId::new(id.to_string())
}

pub(super) fn run_of(id: u64, row: &SimRow) -> Run {
    Run {
        job_id: Some(JobId::new(row.job.to_string())),
        slot_at: row.slot.map(UnixMs),
        catch_up_slot_at: row.catch_up_slot_at.map(UnixMs),
        state: row.state,
        attempt: row.attempt,
        payload: serde_json::json!({ "kind": "toolCall", "tool": "echo" }),
        retry_of: row.is_again.then(|| RunId::new("before")),
        ..Run::queued(run_id(id), row.trigger, UnixMs(0))
    }
}
