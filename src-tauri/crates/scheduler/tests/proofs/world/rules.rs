//! What must hold, judged by the oracle; and what people do to jobs meanwhile.

use rouse_core::decide::{ClaimPlan, PlannedRun};
use rouse_core::job::{MisfireMode, Overlap};
use rouse_core::{RunState, RunTrigger};
use rouse_scheduler::lanes::Rank;

use super::job::{ON_TIME, SimJob, ZoneData};
use super::shape::{DAY, HOUR, MINUTE, SECOND, Shape, ZONES};
use super::{Broken, Pause, Row, World, hold};

/// Runs that may wait behind one that is going, with `overlap: queue`.
pub(super) const QUEUE_BOUND: usize = 10;

/// Places for runs; catch-up runs get half of them.
pub(super) const CAP: usize = 4;

/// The most runs of a job that its policies allow, at work and waiting; those by hand are not counted as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    waiting: usize,
    open: usize,
    at_work: usize,
}

impl Bounds {
    pub(super) fn of(sim: &SimJob) -> Self {
        let (most, at_work) = (sim.most_at_once(), sim.width());
        match sim.job.policies.overlap {
            Overlap::CancelOther => Self { waiting: 1, open: 1, at_work },
            Overlap::Skip => Self { waiting: most, open: most, at_work },
            Overlap::Queue => Self { waiting: QUEUE_BOUND, open: QUEUE_BOUND + at_work, at_work },
            Overlap::Parallel => {
                let open = at_work - 1 + most;
                Self { waiting: open, open, at_work }
            }
        }
    }

    /// What both together may leave behind: a run that was let in under earlier policies stays.
    pub(super) fn or(self, other: Self) -> Self {
        let at_work = self.at_work.max(other.at_work);
        let waiting = self.waiting.max(other.waiting);
        let is_the_same = self == other;
        // With a queue, as many wait as may, whatever is at work from before.
        let open =
            if is_the_same { self.open } else { self.open.max(other.open).max(waiting + at_work) };
        Self { waiting, open, at_work }
    }
}

impl World {
    /// Every slot since the last claim is in the plan, once, and the next one follows at once.
    pub(super) fn check_claim(
        &self,
        number: usize,
        slot: i64,
        load: (u32, u32),
        plan: &ClaimPlan,
    ) -> Result<(), Broken> {
        let sim = &self.jobs[&number];
        let (shape, now) = (&sim.shape, self.now);
        let rules = self.data.rules;
        let due = sim.due(rules);
        hold!(
            sim.is_mixed || due == Some(slot),
            "job {number} {shape:?} claims {slot} where {due:?} is due"
        );
        let stand_for: u64 = plan.runs.iter().map(|run| u64::from(run.stands_for)).sum();
        let passed = sim.passed(now, rules);
        hold!(
            sim.is_mixed || stand_for == passed,
            "job {number} {shape:?}: {passed} slots passed and the rows stand for {stand_for}"
        );
        let next = shape.next_after(sim.over_at(now), rules).map(|at| at + sim.offset);
        let planned = plan.next_run_at.map(|at| at.0);
        hold!(
            planned == next,
            "job {number} {shape:?}: {next:?} is next and {planned:?} is planned"
        );
        let is_slot = |at: i64| shape.next_after(at - 1, rules) == Some(at);
        let slots: Vec<i64> = plan.runs.iter().map(|run| run.slot_at.0).collect();
        hold!(slots.is_sorted_by(|a, b| a < b), "job {number}: slots out of order: {slots:?}");
        hold!(
            sim.is_mixed || slots.iter().map(|at| sim.stands_at(*at)).all(is_slot),
            "job {number} {shape:?}: {slots:?} are no slots of it"
        );
        let fires: Vec<&PlannedRun> =
            plan.runs.iter().filter(|run| run.state == RunState::Queued).collect();
        hold!(!self.is_paused() || fires.is_empty(), "job {number} fires in a pause");
        self.check_misfire(sim, &fires)?;
        self.check_admission(sim, load, plan)
    }

    fn check_misfire(&self, sim: &SimJob, fires: &[&PlannedRun]) -> Result<(), Broken> {
        let misfire = &sim.job.policies.misfire;
        hold!(fires.len() <= sim.most_at_once(), "{} runs at once: {misfire:?}", fires.len());
        fires.iter().try_for_each(|run| self.check_lateness(sim, run.slot_at.0))
    }

    /// A slot is no later than its job allows: when it is claimed, and when its run starts.
    pub(super) fn check_lateness(&self, sim: &SimJob, slot: i64) -> Result<(), Broken> {
        let (late, misfire) = (self.now - slot, &sim.job.policies.misfire);
        let most = misfire.max_lateness_seconds.map(|seconds| i64::from(seconds) * 1_000);
        hold!(most.is_none_or(|most| late <= most), "{late} ms late: {misfire:?}");
        hold!(misfire.mode != MisfireMode::Skip || late <= ON_TIME, "{late} ms late: {misfire:?}");
        Ok(())
    }

    /// What the overlap policy lets in fires when it is on time; what it does not let in never fires.
    fn check_admission(
        &self,
        sim: &SimJob,
        (queued, active): (u32, u32),
        plan: &ClaimPlan,
    ) -> Result<(), Broken> {
        let newest = plan.runs.last().expect("a claim has a row");
        let overlap = sim.job.policies.overlap;
        let (waiting, open) = (queued as usize, (queued + active) as usize);
        let is_let_in = match overlap {
            Overlap::Skip => open == 0,
            Overlap::Queue => waiting < QUEUE_BOUND,
            Overlap::Parallel => open < sim.width(),
            Overlap::CancelOther => true,
        };
        let fires = plan.runs.iter().any(|run| run.state == RunState::Queued);
        hold!(
            is_let_in || !fires,
            "{overlap:?} lets one in beside {waiting} of {open} runs: {:?}",
            plan.runs
        );
        hold!(
            plan.cancel_others == (overlap == Overlap::CancelOther && fires && open > 0),
            "{overlap:?} with {open} runs cancels others: {}",
            plan.cancel_others
        );
        let on_time = self.now - newest.slot_at.0 <= ON_TIME;
        let cools_down = self.check_cooldown(sim, queued, fires)?;
        let must = is_let_in && on_time && !self.is_paused() && !cools_down;
        hold!(
            !must || newest.state == RunState::Queued,
            "a slot on time does not fire with {waiting} of {open} runs and {overlap:?}: {newest:?}"
        );
        Ok(())
    }

    /// Nothing fires while its job cools down, give or take what a start is later than its slot. Answers whether it may.
    fn check_cooldown(&self, sim: &SimJob, queued: u32, fires: bool) -> Result<bool, Broken> {
        let Some(seconds) = sim.job.policies.cooldown_seconds else { return Ok(false) };
        let cooldown = i64::from(seconds) * SECOND;
        let since = sim.rests_since().map(|at| self.now - at).filter(|since| *since >= 0);
        let surely = cooldown - SECOND.min(cooldown / 10);
        hold!(
            !fires || since.is_none_or(|since| since >= surely) && queued == 0,
            "it fires {since:?} ms after a start and beside {queued} runs, with a cooldown of {cooldown}"
        );
        Ok(queued > 0 || since.is_some_and(|since| since < cooldown))
    }

    /// Two starts by themselves are as far apart as the cooldown under which the later one was claimed.
    pub(super) fn check_gap(&self, sim: &SimJob, row: &Row) -> Result<(), Broken> {
        let (Some(before), Some(seconds)) = (sim.started_at, row.cooldown) else { return Ok(()) };
        let (gap, cooldown) = (self.now - before, i64::from(seconds) * SECOND);
        let surely = cooldown - SECOND.min(cooldown / 10);
        hold!(gap >= surely, "started {gap} ms after the last one: cooldown of {cooldown}");
        Ok(())
    }

    /// What waits and works after a claim fits the overlap policy, and what was let in by earlier ones since the job was
    /// idle.
    pub(super) fn check_overlap(&self, number: usize) -> Result<(), Broken> {
        let sim = &self.jobs[&number];
        // What an earlier life has left at work is over; a start closes such rows one after the other, and the first of them
        // may fire a job whose own is still to be closed.
        let lives = |id: &u64, row: &Row| {
            row.state != RunState::Running
                || self.working.contains_key(id)
                || self.resting.contains_key(id)
        };
        let of_slots = |row: &Row| row.job == number && !row.is_by_hand() && !row.is_again;
        let open = self.open.iter().filter(|(id, row)| of_slots(row) && lives(id, row));
        let open: Vec<&Row> = open.map(|(_, row)| row).collect();
        let waiting = open.iter().filter(|row| row.state == RunState::Queued).count();
        let (bounds, overlap) = (sim.bounds, sim.job.policies.overlap);
        hold!(waiting <= bounds.waiting, "{waiting} runs wait with {overlap:?}: {bounds:?}");
        hold!(open.len() <= bounds.open, "{} runs with {overlap:?}: {bounds:?}", open.len());
        Ok(())
    }

    /// No lane is over its width, nor all of them over the cap, nor catch-up over its half.
    pub(super) fn check_places(&self) -> Result<(), Broken> {
        hold!(self.working.len() <= CAP, "{} runs are at work", self.working.len());
        hold!(self.lanes.at_work() == self.working.len(), "the lanes count other places");
        let rows = || self.working.keys().map(|id| &self.open[id]);
        // What makes up for the past in the place of something that is on time is no catch-up by its rank.
        let late = self.working.keys().filter(|id| self.started[*id] == Rank::CatchUp).count();
        hold!(late <= CAP / 2, "{late} catch-up runs are at work");
        for number in rows().map(|row| row.job) {
            let count = rows().filter(|row| row.job == number).count();
            let most = self.jobs[&number].bounds.at_work;
            hold!(count <= most, "{count} runs of job {number} are at work, {most} may be");
        }
        Ok(())
    }

    /// (waiting, at work), as far as a slot of the job has to do with it.
    pub(super) fn load_for_slot(&self, number: usize) -> (u32, u32) {
        let is_once = matches!(self.jobs[&number].shape, Shape::Once(_));
        self.load_where(|row| row.job == number && (!is_once || row.is_for_slot()))
    }

    /// (waiting, at work).
    pub(super) fn load_of(&self, number: usize) -> (u32, u32) {
        self.load_where(|row| row.job == number)
    }

    fn load_where(&self, counts: impl Fn(&Row) -> bool) -> (u32, u32) {
        let of_job = self.open.values().filter(|row| counts(row));
        let (waiting, at_work): (Vec<_>, Vec<_>) =
            of_job.partition(|row| row.state == RunState::Queued);
        let count = |rows: Vec<&Row>| u32::try_from(rows.len()).expect("few");
        (count(waiting), count(at_work))
    }

    /// Whatever an idle job's earlier policies let in is over.
    pub(super) fn notice_idle(&mut self, number: usize) {
        if self.load_of(number) == (0, 0)
            && let Some(sim) = self.jobs.get_mut(&number)
        {
            sim.bounds = Bounds::of(sim);
        }
    }

    /// The machine moves to another zone, or gets other zone data. A process that is up claims what is due by the old
    /// rules and goes over to the new ones; one that starts does not know the old ones.
    pub(super) fn change_zones(&mut self) -> Result<(), Broken> {
        let old = self.data.rules;
        let local = *self.dice.pick(&ZONES);
        let has_new_rules = self.dice.once_in(2);
        let rules = if has_new_rules { old.another(&mut self.dice) } else { old };
        if self.is_up {
            self.tick()?;
        }
        if !has_new_rules {
            // No job moves with the machine.
            self.data.zones = self.data.zones.with_local(local.name());
            return Ok(());
        }
        self.data = ZoneData { rules, zones: rules.zones(local) };
        if !self.is_up {
            self.has_new_rules = true;
            return Ok(());
        }
        let now = self.now;
        for sim in self.jobs.values_mut() {
            sim.follow_rules(old, &self.data, now);
        }
        self.tick()
    }

    pub(super) fn add(&mut self) {
        if self.jobs.len() < self.most_jobs {
            let sim = SimJob::random(&mut self.dice, self.next_job, self.now, &self.data.zones);
            self.jobs.insert(self.next_job, sim);
            self.next_job += 1;
        }
    }

    pub(super) fn edit(&mut self) {
        let Some(number) = self.any_job() else { return };
        if !self.is_up {
            return;
        }
        let now = self.now;
        self.notice_idle(number);
        let sim = self.jobs.get_mut(&number).expect("there");
        sim.edit(&mut self.dice, number, now, &self.data);
        let width = sim.width();
        let lane = rouse_scheduler::lanes::LaneKey::Job(rouse_core::JobId::new(number.to_string()));
        self.lanes.set_width(&lane, width);
    }

    /// Another jitter and nothing else, soon after the time at which a slot stands: where it has come, or is about to.
    pub(super) fn spread(&mut self) -> Result<(), Broken> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let sim = &self.jobs[&number];
        let stands_at = sim.next().map_or(self.now, |next| next - sim.offset);
        let at = stands_at + self.dice.between(-MINUTE, HOUR);
        self.pass((at - self.now).clamp(0, 2 * DAY))?;
        // A one-shot may be gone by now.
        let Some(sim) = self.jobs.get_mut(&number) else { return Ok(()) };
        let jitter = Shape::jitter(&mut self.dice);
        sim.change_jitter(jitter, self.now, &self.data);
        // What has come must not come again, whatever happens to the job or the clock before long.
        let span = self.dice.between(0, 20 * MINUTE);
        self.pass(span)?;
        match self.dice.below(4) {
            0 => (0..2).try_for_each(|_| self.switch(number)),
            1 => self.change_zones(),
            2 => {
                let by = self.dice.between(1, HOUR);
                self.step_clock(-by)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn remove(&mut self) -> Result<(), Broken> {
        match self.any_job() {
            Some(number) if self.is_up => self.delete(number),
            _ => Ok(()),
        }
    }

    pub(super) fn switch_any(&mut self) -> Result<(), Broken> {
        match self.any_job() {
            Some(number) if self.is_up => self.switch(number),
            _ => Ok(()),
        }
    }

    fn switch(&mut self, number: usize) -> Result<(), Broken> {
        let now = self.now;
        let Some(sim) = self.jobs.get_mut(&number) else { return Ok(()) };
        if sim.job.enabled {
            sim.job.enabled = false;
            sim.job.state.next_run_at = None;
            return self.skip_waiting(Some(number));
        }
        if sim.may_be_switched_on(now) {
            sim.job.enabled = true;
            sim.plan(now);
        }
        Ok(())
    }

    pub(super) fn pause_or_resume(&mut self) -> Result<(), Broken> {
        if !self.is_up {
            return Ok(());
        }
        if self.pause.take().is_some() {
            return Ok(());
        }
        let until = self.dice.once_in(2).then(|| self.now + self.dice.between(MINUTE, 3 * DAY));
        self.pause = Some(Pause { until });
        self.skip_waiting(None)
    }

    pub(super) fn run_by_hand(&mut self) -> Result<(), Broken> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let width = self.jobs[&number].width();
        self.made += 1;
        self.enqueue(Row::new(number, None, RunTrigger::Manual), width);
        self.start_startable()
    }

    fn any_job(&mut self) -> Option<usize> {
        let numbers: Vec<usize> = self.jobs.keys().copied().collect();
        (!numbers.is_empty()).then(|| *self.dice.pick(&numbers))
    }
}
