//! One life of the process after another: ticks, lanes, ends, crashes and starts, as the engine does them.

use rouse_core::decide::{
    Calls, Due, JobFate, Recovery, fate_of_job, plan_claim, recover, too_late_to_start,
};
use rouse_core::run::GivenUp;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_scheduler::lanes::{LaneKey, Lanes, Rank, Startable};

use super::job::SimJob;
use super::rules::CAP;
use super::shape::{HOUR, MINUTE, Shape};
use super::{Broken, Row, World, hold};

impl World {
    /// Lets time pass. A process that is up sees every instant at which something is to be done.
    pub(super) fn pass(&mut self, span: i64) -> Result<(), Broken> {
        let mut left = span;
        while self.is_up {
            let next = self.jobs.values().filter_map(SimJob::next).min();
            let at = next.into_iter().chain(self.pause.and_then(|pause| pause.until)).min();
            let due = at.map(|at| at - self.now);
            let end = self.working.values().min().copied();
            // One that is due already waits for a place, which others must free.
            let attempt = self.resting.values().copied().filter(|left| *left > 0).min();
            let Some(wait) =
                due.into_iter().chain(end).chain(attempt).min().filter(|wait| *wait <= left)
            else {
                break;
            };
            self.elapse(wait.max(0));
            left -= wait.max(0);
            self.end_what_is_over()?;
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

    pub(super) fn end_what_is_over(&mut self) -> Result<(), Broken> {
        let over = self.working.iter().filter(|(_, left)| **left <= 0).map(|(run, _)| *run);
        for run in over.collect::<Vec<_>>() {
            let states =
                [RunState::Succeeded, RunState::Succeeded, RunState::Failed, RunState::TimedOut];
            let state = *self.dice.pick(&states);
            if !(state == RunState::Failed && self.waits_for_next_attempt(run)?) {
                self.end(run, state)?;
            }
        }
        self.begin_next_attempts()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause.is_some_and(|pause| pause.until.is_none_or(|until| until > self.now))
    }

    /// What is due is claimed, what may start is started; and no next slot lies in the past. When a pause has come to its
    /// end while nobody looked, what came in it is left out, and what came after it is not.
    pub(super) fn tick(&mut self) -> Result<(), Broken> {
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
            hold!(next.is_none_or(|next| next > self.now), "job {number} stays due at {next:?}");
        }
        self.start_startable()
    }

    fn claim_due(&mut self) -> Result<(), Broken> {
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

    fn claim(&mut self, number: usize, slot: i64) -> Result<(), Broken> {
        let firing = self.firing();
        self.notice_idle(number);
        let now = self.now;
        let sim = &self.jobs[&number];
        let (queued, active) = self.load_for_slot(number);
        let last_run_at = sim.rests_since().map(UnixMs);
        let slot_at = UnixMs(slot);
        let (job, slots) = (&sim.job, &sim.slots);
        let due = Due { job, slots, slot: slot_at, queued, active, last_run_at };
        let plan = plan_claim(due, UnixMs(now), &firing);
        self.check_claim(number, slot, (queued, active), &plan)?;
        let rules = self.data.rules;
        self.left_out += if self.is_paused() { plan.runs.len() } else { 0 };
        let sim = self.jobs.get_mut(&number).expect("there");
        (sim.job.state.next_run_at, sim.job.state.decided) = (plan.next_run_at, plan.decided);
        // The date of a slot is not known when its rules are not.
        let was_mixed = std::mem::take(&mut sim.is_mixed);
        let (width, cooldown) = (sim.width(), sim.job.policies.cooldown_seconds);
        let mut claimed = Vec::new();
        for run in &plan.runs {
            let stands_at = sim.stands_at(run.slot_at.0);
            let is_known = !sim.recorded.insert(stands_at);
            // The disk takes no instant twice.
            let is_new = sim.instants.insert(run.slot_at.0);
            hold!(
                is_new != is_known || stands_at <= sim.seen_until,
                "slot {stands_at} of job {number}, known: {is_known}, at {}, new: {is_new}",
                run.slot_at.0
            );
            let is_again = is_new && !was_mixed && !sim.shows_first_time(stands_at, rules);
            hold!(
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
        let replaced = match plan.cancel_others && !claimed.is_empty() {
            true => self.replace_runs_of(number)?,
            false => Vec::new(),
        };
        for (slot, trigger, state) in claimed {
            self.made += 1;
            if state == RunState::Queued {
                let row = Row { cooldown, ..Row::new(number, Some(slot), trigger) };
                self.enqueue(row, width);
            } else {
                hold!(matches!(state, RunState::Skipped | RunState::Missed), "{state:?}");
                self.ended += 1;
            }
        }
        self.end_replaced(replaced)?;
        self.check_overlap(number)
    }

    pub(super) fn enqueue(&mut self, row: Row, width: usize) {
        self.notice_idle(row.job);
        let id = self.made;
        self.lanes.enqueue(lane(row.job), width, Rank::from(row.trigger), run_id(id), ());
        self.open.insert(id, row);
    }

    pub(super) fn start_startable(&mut self) -> Result<(), Broken> {
        loop {
            self.begin_next_attempts()?;
            let startable = self.lanes.take_startable();
            if startable.is_empty() {
                return self.check_places();
            }
            for Startable { id, lane, rank, .. } in startable {
                let id: u64 = id.as_str().parse().expect("a number");
                if self.is_in_time(id)? {
                    self.begin(id, rank)?;
                } else {
                    self.lanes.finished(&lane, rank);
                    self.close(id)?;
                }
            }
        }
    }

    /// Whether a run that has got a place may have it.
    fn is_in_time(&self, id: u64) -> Result<bool, Broken> {
        let row = self.open.get(&id).ok_or_else(|| format!("run {id} starts after its end"))?;
        let Some(sim) = self.jobs.get(&row.job).filter(|_| !row.is_by_hand()) else {
            return Ok(true);
        };
        Ok(too_late_to_start(&sim.job, &run_of(id, row), UnixMs(self.now)).is_none())
    }

    fn begin(&mut self, id: u64, rank: Rank) -> Result<(), Broken> {
        let row = self.open.get_mut(&id).ok_or_else(|| format!("run {id} is not open"))?;
        hold!(row.state == RunState::Queued, "run {id} starts as {:?}", row.state);
        hold!(self.started.insert(id, rank).is_none(), "run {id} started twice");
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

    /// The end of a run at work, and what it does to its job.
    pub(super) fn end(&mut self, id: u64, state: RunState) -> Result<(), Broken> {
        let row = self.close(id)?;
        match self.resting.remove(&id) {
            Some(_) => self.lanes.finished_at_rest(&lane(row.job)),
            None => {
                self.working.remove(&id);
                self.lanes.finished(&lane(row.job), self.started[&id]);
            }
        }
        self.tell_job(id, &row, &Outcome::of(state))?;
        self.fire(id, &row, state)
    }

    /// What the end of a run does to its job.
    pub(super) fn tell_job(&mut self, id: u64, row: &Row, outcome: &Outcome) -> Result<(), Broken> {
        let slot_is_open =
            self.open.values().any(|other| other.job == row.job && other.is_for_slot());
        let Some(sim) = self.jobs.get_mut(&row.job) else { return Ok(()) };
        let fate = fate_of_job(&sim.job, &run_of(id, row), outcome, slot_is_open);
        let is_once = matches!(sim.shape, Shape::Once(_));
        hold!(
            !(is_once && row.is_by_hand() && slot_is_open && fate == JobFate::IsDeleted),
            "a run by hand takes job {} away, and the run for its slot is open",
            row.job
        );
        let state = outcome.state;
        if state.is_failure() {
            sim.job.state.consecutive_failures += 1;
        } else if state == RunState::Succeeded {
            sim.job.state.consecutive_failures = 0;
        }
        match fate {
            JobFate::Stays => Ok(()),
            JobFate::IsDeleted => self.delete(row.job),
            JobFate::IsPaused(_) => {
                sim.job.enabled = false;
                sim.job.state.next_run_at = None;
                self.skip_waiting(Some(row.job))
            }
        }
    }

    pub(super) fn close(&mut self, id: u64) -> Result<Row, Broken> {
        self.ended += 1;
        self.open.remove(&id).ok_or_else(|| format!("run {id} ended twice"))
    }

    pub(super) fn delete(&mut self, number: usize) -> Result<(), Broken> {
        self.jobs.remove(&number);
        self.end_runs_of(number)
    }

    fn end_runs_of(&mut self, number: usize) -> Result<(), Broken> {
        let rests = self.replace_runs_of(number)?;
        rests.into_iter().try_for_each(|id| self.end(id, RunState::Cancelled))
    }

    /// Ends what waits and works of a job; answers what is between two attempts, which has failed.
    pub(super) fn replace_runs_of(&mut self, number: usize) -> Result<Vec<u64>, Broken> {
        for run in self.lanes.remove_of(&lane(number), |()| true) {
            self.close(run.as_str().parse().expect("a number"))?;
        }
        let of_job = |id: &u64| self.open[id].job == number;
        let at_work: Vec<u64> = self.working.keys().copied().filter(of_job).collect();
        let rests = self.resting.keys().copied().filter(of_job).collect();
        at_work.into_iter().try_for_each(|id| self.end(id, RunState::Cancelled))?;
        Ok(rests)
    }

    /// The failures of those that were replaced between two attempts count when the newer run is there.
    pub(super) fn end_replaced(&mut self, replaced: Vec<u64>) -> Result<(), Broken> {
        for id in replaced {
            // The end of another one may have ended it.
            if self.resting.contains_key(&id) {
                self.give_up(id, GivenUp::Replaced)?;
            }
        }
        Ok(())
    }

    /// What slots asked for and has not begun is skipped.
    pub(super) fn skip_waiting(&mut self, job: Option<usize>) -> Result<(), Broken> {
        let waits = |row: &Row| row.state == RunState::Queued && !row.is_by_hand();
        let of_job = |row: &Row| job.is_none_or(|job| row.job == job);
        let ids = self.open.iter().filter(|(_, row)| waits(row) && of_job(row)).map(|(id, _)| *id);
        for id in ids.collect::<Vec<_>>() {
            hold!(self.lanes.remove(&run_id(id)).is_some(), "run {id} waits in no lane");
            self.close(id)?;
        }
        self.give_up_waits(|row| of_job(row) && !row.is_by_hand())
    }

    /// The process is gone; only the disk is left.
    pub(super) fn crash(&mut self) {
        self.is_up = false;
        self.working.clear();
        self.resting.clear();
        self.resuming.clear();
        self.lanes = Lanes::new(CAP);
    }

    pub(super) fn start(&mut self) -> Result<(), Broken> {
        self.is_up = true;
        let left: Vec<(u64, Row)> = self.open.iter().map(|(id, row)| (*id, row.clone())).collect();
        let mut refused = Vec::new();
        let begun = || left.iter().filter(|(_, row)| row.state == RunState::Running);
        for (id, row) in begun() {
            if let Some(wait) = row.waits
                && self.take_up_wait(*id, row, wait)
            {
                refused.push(*id);
            }
        }
        for (id, row) in begun().filter(|(_, row)| row.waits.is_none()) {
            self.recover_cut_off(*id, row)?;
        }
        for (id, row) in left.into_iter().filter(|(_, row)| row.state == RunState::Queued) {
            if self.open.contains_key(&id) {
                self.recover_waiting(id, &row)?;
            }
        }
        // The end of one may switch its job off, which is for runs that are in their lanes.
        for id in refused {
            if self.resting.contains_key(&id) {
                self.give_up(id, GivenUp::KeptBack)?;
            }
        }
        if std::mem::take(&mut self.has_new_rules) {
            let now = self.now;
            self.jobs.values_mut().for_each(|sim| sim.start_with_rules(&self.data, now));
        }
        self.catch_up()
    }

    fn recover_cut_off(&mut self, id: u64, row: &Row) -> Result<(), Broken> {
        self.close(id)?;
        let had_effect = self.dice.once_in(3);
        let calls = if had_effect { Calls::Unrepeatable } else { Calls::Repeatable };
        let sim = self.jobs.get(&row.job);
        let run = run_of(id, row);
        let again = !self.is_paused()
            && recover(sim.map(|sim| &sim.job), &run, calls, UnixMs(self.now))
                == Recovery::RunAgain;
        hold!(!(again && (row.is_again || had_effect)), "run {id} is made up for in a loop");
        if let (true, Some(sim)) = (again, sim) {
            let width = sim.width();
            self.made += 1;
            let (cause, makes_up_for) = (row.cause.clone(), row.slot);
            let again = Row {
                is_again: true,
                makes_up_for,
                cause,
                ..Row::new(row.job, None, RunTrigger::CatchUp)
            };
            self.enqueue(again, width);
            return Ok(());
        }
        // Whatever waits for its end waits for the run that makes up for it.
        self.fire(id, row, RunState::Interrupted)
    }

    fn recover_waiting(&mut self, id: u64, row: &Row) -> Result<(), Broken> {
        let now = UnixMs(self.now);
        let is_wanted = match self.jobs.get(&row.job) {
            None => false,
            Some(_) if row.is_by_hand() => true,
            Some(sim) => {
                let run = run_of(id, row);
                !self.is_paused()
                    && sim.job.enabled
                    && too_late_to_start(&sim.job, &run, now).is_none()
            }
        };
        match self.jobs.get(&row.job) {
            Some(sim) if is_wanted => {
                let rank = Rank::from(row.trigger);
                self.lanes.enqueue(lane(row.job), sim.width(), rank, run_id(id), ());
                Ok(())
            }
            _ => self.close(id).map(drop),
        }
    }

    /// What is due is claimed, and after a step of the clock what lies too far ahead is taken nearer.
    pub(super) fn catch_up(&mut self) -> Result<(), Broken> {
        self.end_what_is_over()?;
        self.tick()?;
        if !std::mem::take(&mut self.was_set) {
            return Ok(());
        }
        let (now, rules) = (self.now, self.data.rules);
        self.jobs.values_mut().for_each(|sim| sim.take_nearer(now, rules));
        Ok(())
    }
}

pub(super) fn lane(job: usize) -> LaneKey {
    LaneKey::Job(JobId::new(job.to_string()))
}

pub(super) fn run_id(id: u64) -> RunId {
    RunId::new(id.to_string())
}

pub(super) fn run_of(id: u64, row: &Row) -> Run {
    Run {
        job_id: Some(JobId::new(row.job.to_string())),
        slot_at: row.slot.map(UnixMs),
        makes_up_for: row.makes_up_for.map(UnixMs),
        state: row.state,
        attempt: row.attempt,
        payload: serde_json::json!({ "kind": "toolCall", "tool": "echo" }),
        retry_of: row.is_again.then(|| RunId::new("before")),
        ..Run::queued(run_id(id), row.trigger, UnixMs(0))
    }
}
