//! One life of the process after another: ticks, lanes, ends, crashes and starts, as the engine does them.

use rouse_core::decide::{
    Calls, Due, Firing, JobFate, Recovery, fate_of_job, plan_claim, recover, too_late_to_start,
};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_scheduler::lanes::{LaneKey, Lanes, Rank, Startable};

use super::job::{NOT_KNOWN, SimJob};
use super::rules::CAP;
use super::shape::{HOUR, MINUTE};
use super::{Broken, Row, World, hold};

impl World {
    /// Lets time pass. A process that is up sees every instant at which something is to be done.
    pub(super) fn pass(&mut self, span: i64) -> Result<(), Broken> {
        let mut left = span;
        while self.is_up {
            let due = self.jobs.values().filter_map(SimJob::next).min().map(|at| at - self.now);
            let end = self.working.values().min().copied();
            let Some(wait) = due.into_iter().chain(end).min().filter(|wait| *wait <= left) else {
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
        self.count_days();
    }

    pub(super) fn end_what_is_over(&mut self) -> Result<(), Broken> {
        let over = self.working.iter().filter(|(_, left)| **left <= 0).map(|(run, _)| *run);
        for run in over.collect::<Vec<_>>() {
            let states =
                [RunState::Succeeded, RunState::Succeeded, RunState::Failed, RunState::TimedOut];
            let state = *self.dice.pick(&states);
            self.end(run, state)?;
        }
        Ok(())
    }

    /// What is due is claimed, what may start is started; and no next slot lies in the past.
    pub(super) fn tick(&mut self) -> Result<(), Broken> {
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
        for (number, sim) in &self.jobs {
            let next = sim.next();
            hold!(next.is_none_or(|next| next > self.now), "job {number} stays due at {next:?}");
        }
        self.start_startable()
    }

    fn claim(&mut self, number: usize, slot: i64) -> Result<(), Broken> {
        let firing = if self.paused { Firing::Off("paused".to_owned()) } else { Firing::On };
        let (queued, active) = self.load_of(number);
        self.notice_idle(number);
        let now = self.now;
        let sim = &self.jobs[&number];
        let due = Due { job: &sim.job, slots: &sim.slots, slot: UnixMs(slot), queued, active };
        let plan = plan_claim(due, UnixMs(now), &firing);
        self.check_claim(number, slot, (queued, active), &plan)?;
        let rules = self.data.rules;
        let sim = self.jobs.get_mut(&number).expect("there");
        sim.job.state.next_run_at = plan.next_run_at;
        // The date of a slot is not known when its rules are not.
        let was_mixed = std::mem::take(&mut sim.is_mixed);
        let (width, cooldown) = (sim.width(), sim.job.policies.cooldown_seconds);
        let mut claimed = Vec::new();
        for run in &plan.runs {
            let stands_at = sim.stands_at(run.slot_at.0);
            let is_new = sim.recorded.insert(stands_at);
            hold!(
                is_new || stands_at <= sim.seen_until,
                "slot {stands_at} of job {number} came twice, the second time at {}",
                run.slot_at.0
            );
            let is_again = !was_mixed && !sim.shows_first_time(stands_at, rules);
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
        sim.cover(now);
        if plan.cancel_others && !claimed.is_empty() {
            self.end_runs_of(number)?;
        }
        for (slot, trigger, state) in claimed {
            self.made += 1;
            if state == RunState::Queued {
                let (slot, is_again) = (Some(slot), false);
                let row = Row { job: number, slot, trigger, state, is_again, cooldown };
                self.enqueue(row, width);
            } else {
                hold!(matches!(state, RunState::Skipped | RunState::Missed), "{state:?}");
                self.ended += 1;
            }
        }
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
        }
        let most = *self.dice.pick(&[MINUTE, 30 * MINUTE, 30 * HOUR]);
        self.working.insert(id, self.dice.between(1, most));
        Ok(())
    }

    /// The end of a run at work, and what it does to its job.
    pub(super) fn end(&mut self, id: u64, state: RunState) -> Result<(), Broken> {
        self.working.remove(&id);
        let row = self.close(id)?;
        self.lanes.finished(&lane(row.job), self.started[&id]);
        let Some(sim) = self.jobs.get_mut(&row.job) else { return Ok(()) };
        let fate = fate_of_job(&sim.job, &run_of(id, &row), &Outcome::of(state));
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
        for run in self.lanes.remove_lane(&lane(number)) {
            self.close(run.as_str().parse().expect("a number"))?;
        }
        let at_work: Vec<u64> =
            self.working.keys().copied().filter(|id| self.open[id].job == number).collect();
        at_work.into_iter().try_for_each(|id| self.end(id, RunState::Cancelled))
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
        Ok(())
    }

    /// The process is gone; only the disk is left.
    pub(super) fn crash(&mut self) {
        self.is_up = false;
        self.working.clear();
        self.lanes = Lanes::new(CAP);
    }

    pub(super) fn start(&mut self) -> Result<(), Broken> {
        self.is_up = true;
        let left: Vec<(u64, Row)> = self.open.iter().map(|(id, row)| (*id, row.clone())).collect();
        for (id, row) in left.iter().filter(|(_, row)| row.state == RunState::Running) {
            self.recover_cut_off(*id, row)?;
        }
        for (id, row) in left.into_iter().filter(|(_, row)| row.state == RunState::Queued) {
            self.recover_waiting(id, &row)?;
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
        let again = !self.paused
            && recover(sim.map(|sim| &sim.job), &run, calls, UnixMs(self.now))
                == Recovery::RunAgain;
        hold!(!(again && (row.is_again || had_effect)), "run {id} is made up for in a loop");
        if let (true, Some(sim)) = (again, sim) {
            let width = sim.width();
            self.made += 1;
            let again = Row {
                slot: None,
                trigger: RunTrigger::CatchUp,
                state: RunState::Queued,
                is_again: true,
                cooldown: None,
                ..row.clone()
            };
            self.enqueue(again, width);
        }
        Ok(())
    }

    fn recover_waiting(&mut self, id: u64, row: &Row) -> Result<(), Broken> {
        let now = UnixMs(self.now);
        let is_wanted = match self.jobs.get(&row.job) {
            None => false,
            Some(_) if row.is_by_hand() => true,
            Some(sim) => {
                let run = run_of(id, row);
                !self.paused && sim.job.enabled && too_late_to_start(&sim.job, &run, now).is_none()
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
        // A step soon after new rules finds the times that these show again.
        let (now, shown) = (self.now, self.new_rules_at.saturating_add(NOT_KNOWN));
        for sim in self.jobs.values_mut() {
            sim.seen_until = sim.seen_until.max(shown);
            let (Some(stored), Some(nearest)) = (sim.next(), sim.slots.next_after(UnixMs(now)))
            else {
                continue;
            };
            if nearest.0 < stored {
                sim.job.state.next_run_at = Some(nearest);
                sim.cover(now);
            }
        }
        Ok(())
    }
}

fn lane(job: usize) -> LaneKey {
    LaneKey::Job(JobId::new(job.to_string()))
}

fn run_id(id: u64) -> RunId {
    RunId::new(id.to_string())
}

fn run_of(id: u64, row: &Row) -> Run {
    Run {
        job_id: Some(JobId::new(row.job.to_string())),
        slot_at: row.slot.map(UnixMs),
        state: row.state,
        attempt: 1,
        retry_of: row.is_again.then(|| RunId::new("before")),
        ..Run::queued(run_id(id), row.trigger, UnixMs(0))
    }
}
