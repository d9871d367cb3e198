//! The invariants, judged by the oracle; and the actions of people.

use rouse_core::decide::{ClaimPlan, PlannedRun};
use rouse_core::job::{MisfireMode, Overlap};
use rouse_core::{RunState, RunTrigger};
use rouse_scheduler::permits::PermitKind;

use super::job::{ON_TIME, SimJob, ZoneData};
use super::shape::{DAY, HOUR, MINUTE, SECOND, ScheduleShape, ZONES};
use super::{SimPause, SimRow, SimWorld, Violation, ensure};

/// Maximum queued runs with `overlap: queue`.
pub(super) const QUEUE_BOUND: usize = 10;

/// The limit of scheduled and of manual runs; catch-up runs get half.
pub(super) const LIMIT: usize = 4;

/// The maximum queued and active runs of a job by policy; queued manual runs are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OverlapBounds {
    waiting: usize,
    open: usize,
    at_work: usize,
}

impl OverlapBounds {
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

    /// The bounds while runs of both policies are open.
    pub(super) fn or(self, other: Self) -> Self {
        let at_work = self.at_work.max(other.at_work);
        let waiting = self.waiting.max(other.waiting);
        let is_the_same = self == other;
        // With a queue, earlier active runs do not shorten the queue.
        let open =
            if is_the_same { self.open } else { self.open.max(other.open).max(waiting + at_work) };
        Self { waiting, open, at_work }
    }
}

impl SimWorld {
    /// Every slot since the last claim is planned once, and the next slot follows at once.
    pub(super) fn check_claim(
        &self,
        number: usize,
        slot: i64,
        load: (u32, u32),
        plan: &ClaimPlan,
    ) -> Result<(), Violation> {
        let sim = &self.jobs[&number];
        let (shape, now) = (&sim.shape, self.now);
        let rules = self.data.rules;
        let due = sim.due(rules);
        ensure!(
            sim.is_mixed || due == Some(slot),
            "job {number} {shape:?} claims {slot} where {due:?} is due"
        );
        let stand_for: u64 = plan.runs.iter().map(|run| u64::from(run.slot_count)).sum();
        let passed = sim.passed(now, rules);
        ensure!(
            sim.is_mixed || stand_for == passed,
            "job {number} {shape:?}: {passed} slots passed and the rows stand for {stand_for}"
        );
        let next = shape.next_after(sim.over_at(now), rules).map(|at| at + sim.offset);
        let planned = plan.next_run_at.map(|at| at.0);
        ensure!(
            planned == next,
            "job {number} {shape:?}: {next:?} is next and {planned:?} is planned"
        );
        let is_slot = |at: i64| shape.next_after(at - 1, rules) == Some(at);
        let slots: Vec<i64> = plan.runs.iter().map(|run| run.slot_at.0).collect();
        ensure!(slots.is_sorted_by(|a, b| a < b), "job {number}: slots out of order: {slots:?}");
        ensure!(
            sim.is_mixed || slots.iter().map(|at| sim.stands_at(*at)).all(is_slot),
            "job {number} {shape:?}: {slots:?} are no slots of the job"
        );
        let fires: Vec<&PlannedRun> =
            plan.runs.iter().filter(|run| run.state == RunState::Queued).collect();
        ensure!(!self.is_paused() || fires.is_empty(), "job {number} fires in a pause");
        self.check_misfire(sim, &fires)?;
        self.check_admission(sim, load, plan)
    }

    fn check_misfire(&self, sim: &SimJob, fires: &[&PlannedRun]) -> Result<(), Violation> {
        let misfire = &sim.job.policies.misfire;
        ensure!(fires.len() <= sim.most_at_once(), "{} runs at once: {misfire:?}", fires.len());
        fires.iter().try_for_each(|run| self.check_lateness(sim, run.slot_at.0))
    }

    /// A slot is within the lateness, at the claim and at the start.
    pub(super) fn check_lateness(&self, sim: &SimJob, slot: i64) -> Result<(), Violation> {
        let (late, misfire) = (self.now - slot, &sim.job.policies.misfire);
        let most = misfire.max_lateness_seconds.map(|seconds| i64::from(seconds) * 1_000);
        ensure!(most.is_none_or(|most| late <= most), "{late} ms late: {misfire:?}");
        ensure!(
            misfire.mode != MisfireMode::Skip || late <= ON_TIME,
            "{late} ms late: {misfire:?}"
        );
        Ok(())
    }

    /// A slot that the overlap policy admits fires if on time; any other never fires.
    fn check_admission(
        &self,
        sim: &SimJob,
        (queued, active): (u32, u32),
        plan: &ClaimPlan,
    ) -> Result<(), Violation> {
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
        ensure!(
            is_let_in || !fires,
            "{overlap:?} admits a run beside {waiting} of {open} runs: {:?}",
            plan.runs
        );
        ensure!(
            plan.cancel_others == (overlap == Overlap::CancelOther && fires && open > 0),
            "{overlap:?} with {open} runs cancels others: {}",
            plan.cancel_others
        );
        let on_time = self.now - newest.slot_at.0 <= ON_TIME;
        let cools_down = self.check_cooldown(sim, queued, fires)?;
        let must = is_let_in && on_time && !self.is_paused() && !cools_down;
        ensure!(
            !must || newest.state == RunState::Queued,
            "a slot on time does not fire with {waiting} of {open} runs and {overlap:?}: {newest:?}"
        );
        Ok(())
    }

    /// Nothing fires in a cooldown, within the delay of a start. Returns whether the cooldown may skip the slot.
    fn check_cooldown(&self, sim: &SimJob, queued: u32, fires: bool) -> Result<bool, Violation> {
        let Some(seconds) = sim.job.policies.cooldown_seconds else { return Ok(false) };
        let cooldown = i64::from(seconds) * SECOND;
        let since = sim.cooldown_start().map(|at| self.now - at).filter(|since| *since >= 0);
        let surely = cooldown - SECOND.min(cooldown / 10);
        ensure!(
            !fires || since.is_none_or(|since| since >= surely) && queued == 0,
            "the slot fires {since:?} ms after a start and beside {queued} runs, with a cooldown of {cooldown}"
        );
        Ok(queued > 0 || since.is_some_and(|since| since < cooldown))
    }

    /// Two scheduled starts are as far apart as the cooldown of the later claim.
    pub(super) fn check_gap(&self, sim: &SimJob, row: &SimRow) -> Result<(), Violation> {
        let (Some(before), Some(seconds)) = (sim.started_at, row.cooldown) else { return Ok(()) };
        let (gap, cooldown) = (self.now - before, i64::from(seconds) * SECOND);
        let surely = cooldown - SECOND.min(cooldown / 10);
        ensure!(gap >= surely, "started {gap} ms after the last run: cooldown of {cooldown}");
        Ok(())
    }

    /// Queued and active runs fit the overlap policy, or an earlier policy since the job was idle.
    pub(super) fn check_overlap(&self, number: usize) -> Result<(), Violation> {
        let sim = &self.jobs[&number];
        // Interrupted runs have ended. A start closes the rows in sequence, and the first may fire a job with an open
        // row.
        let lives = |id: &u64, row: &SimRow| {
            row.state != RunState::Running
                || self.working.contains_key(id)
                || self.resting.contains_key(id)
        };
        let of_slots = |row: &SimRow| row.job == number && !row.is_manual() && !row.is_again;
        let open = self.open.iter().filter(|(id, row)| of_slots(row) && lives(id, row));
        let open: Vec<&SimRow> = open.map(|(_, row)| row).collect();
        let waiting = open.iter().filter(|row| row.state == RunState::Queued).count();
        let (bounds, overlap) = (sim.bounds, sim.job.policies.overlap);
        ensure!(waiting <= bounds.waiting, "{waiting} runs wait with {overlap:?}: {bounds:?}");
        ensure!(open.len() <= bounds.open, "{} runs with {overlap:?}: {bounds:?}", open.len());
        Ok(())
    }

    /// No lane exceeds its width, scheduled and manual runs each their limit, and catch-up runs half of that limit.
    pub(super) fn check_permits(&self) -> Result<(), Violation> {
        let permits = self.lanes.permits().in_use();
        ensure!(permits == self.working.len(), "{permits} permits for {} runs", self.working.len());
        let rows = || self.working.keys().map(|id| &self.open[id]);
        let manual = rows().filter(|row| row.is_manual()).count();
        ensure!(manual <= LIMIT, "{manual} manual runs are active");
        let scheduled = self.working.len() - manual;
        ensure!(scheduled <= LIMIT, "{scheduled} scheduled runs are active");
        // A catch-up run in front of an on-time run has an on-time permit.
        let late =
            self.working.keys().filter(|id| self.started[*id] == PermitKind::CatchUp).count();
        ensure!(late <= LIMIT / 2, "{late} catch-up runs are active");
        for number in rows().map(|row| row.job) {
            let count = rows().filter(|row| row.job == number).count();
            let most = self.jobs[&number].bounds.at_work;
            ensure!(count <= most, "{count} runs of job {number} are at work, {most} may be");
        }
        Ok(())
    }

    /// (queued, active) for a slot of the job.
    pub(super) fn load_for_slot(&self, number: usize) -> (u32, u32) {
        let is_once = matches!(self.jobs[&number].shape, ScheduleShape::Once(_));
        self.load_where(|row| row.job == number && (!is_once || row.is_for_slot()))
    }

    /// (queued, active).
    pub(super) fn load_of(&self, number: usize) -> (u32, u32) {
        self.load_where(|row| row.job == number)
    }

    fn load_where(&self, counts: impl Fn(&SimRow) -> bool) -> (u32, u32) {
        let of_job = self.open.values().filter(|row| counts(row));
        let (waiting, at_work): (Vec<_>, Vec<_>) =
            of_job.partition(|row| row.state == RunState::Queued);
        let count = |rows: Vec<&SimRow>| u32::try_from(rows.len()).expect("few");
        (count(waiting), count(at_work))
    }

    /// An idle job has the bounds of its current policies.
    pub(super) fn reset_idle_bounds(&mut self, number: usize) {
        if self.load_of(number) == (0, 0)
            && let Some(sim) = self.jobs.get_mut(&number)
        {
            sim.bounds = OverlapBounds::of(sim);
        }
    }

    /// Moves the machine to another zone, or installs other zone data. A running process claims by the old rules and
    /// then applies the new rules; a starting process does not know the old rules.
    pub(super) fn change_zones(&mut self) -> Result<(), Violation> {
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
        self.reset_idle_bounds(number);
        let sim = self.jobs.get_mut(&number).expect("there");
        sim.edit(&mut self.dice, number, now, &self.data);
        let width = sim.width();
        let lane = rouse_scheduler::lanes::LaneKey::Job(rouse_core::JobId::new(number.to_string()));
        self.lanes.set_width(&lane, width);
    }

    /// Changes the jitter only, near the instant of a slot.
    pub(super) fn spread(&mut self) -> Result<(), Violation> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let sim = &self.jobs[&number];
        let stands_at = sim.next().map_or(self.now, |next| next - sim.offset);
        let at = stands_at + self.dice.between(-MINUTE, HOUR);
        self.pass((at - self.now).clamp(0, 2 * DAY))?;
        // A one-shot may be deleted by now.
        let Some(sim) = self.jobs.get_mut(&number) else { return Ok(()) };
        let jitter = ScheduleShape::jitter(&mut self.dice);
        sim.change_jitter(jitter, self.now, &self.data);
        // A decided slot must not repeat, even with changes to job or clock soon after.
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

    pub(super) fn remove(&mut self) -> Result<(), Violation> {
        match self.any_job() {
            Some(number) if self.is_up => self.delete(number),
            _ => Ok(()),
        }
    }

    pub(super) fn switch_any(&mut self) -> Result<(), Violation> {
        match self.any_job() {
            Some(number) if self.is_up => self.switch(number),
            _ => Ok(()),
        }
    }

    fn switch(&mut self, number: usize) -> Result<(), Violation> {
        let now = self.now;
        let Some(sim) = self.jobs.get_mut(&number) else { return Ok(()) };
        if sim.job.enabled {
            sim.job.enabled = false;
            sim.job.state.next_run_at = None;
            return self.skip_queued(Some(number));
        }
        if sim.may_be_switched_on(now) {
            sim.job.enabled = true;
            sim.plan(now);
        }
        Ok(())
    }

    pub(super) fn pause_or_resume(&mut self) -> Result<(), Violation> {
        if !self.is_up {
            return Ok(());
        }
        if self.pause.take().is_some() {
            return Ok(());
        }
        let until = self.dice.once_in(2).then(|| self.now + self.dice.between(MINUTE, 3 * DAY));
        self.pause = Some(SimPause { until });
        self.skip_queued(None)
    }

    pub(super) fn run_manually(&mut self) -> Result<(), Violation> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let width = self.jobs[&number].width();
        self.made += 1;
        self.enqueue(SimRow::new(number, None, RunTrigger::Manual), width);
        self.start_startable()
    }

    fn any_job(&mut self) -> Option<usize> {
        let numbers: Vec<usize> = self.jobs.keys().copied().collect();
        (!numbers.is_empty()).then(|| *self.dice.pick(&numbers))
    }
}
