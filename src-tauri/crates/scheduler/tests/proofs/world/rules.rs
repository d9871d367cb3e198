//! What must hold, judged by the oracle; and what people do to jobs meanwhile.

use rouse_core::decide::{ClaimPlan, PlannedRun};
use rouse_core::job::{MisfireMode, Overlap};
use rouse_core::{RunState, RunTrigger};

use super::job::{ON_TIME, SimJob};
use super::{Broken, Row, World, hold};

/// Runs that may wait behind one that is going, with `overlap: queue`.
const QUEUE_BOUND: usize = 10;

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
        let due = shape.next_after(sim.covered);
        hold!(due == Some(slot), "job {number} {shape:?} claims {slot} where {due:?} is due");
        let stand_for: u64 = plan.runs.iter().map(|run| u64::from(run.stands_for)).sum();
        let passed = shape.count(sim.covered, now);
        hold!(
            stand_for == passed,
            "job {number} {shape:?}: {passed} slots passed and the rows stand for {stand_for}"
        );
        let next = shape.next_after(now);
        let planned = plan.next_run_at.map(|at| at.0);
        hold!(
            planned == next,
            "job {number} {shape:?}: {next:?} is next and {planned:?} is planned"
        );
        let slots: Vec<i64> = plan.runs.iter().map(|run| run.slot_at.0).collect();
        hold!(slots.is_sorted_by(|a, b| a < b), "job {number}: slots out of order: {slots:?}");
        hold!(
            slots.iter().all(|at| shape.next_after(at - 1) == Some(*at)),
            "job {number} {shape:?}: {slots:?} are no slots of it"
        );
        let fires: Vec<&PlannedRun> =
            plan.runs.iter().filter(|run| run.state == RunState::Queued).collect();
        hold!(!self.paused || fires.is_empty(), "job {number} fires in a pause");
        self.check_misfire(sim, &fires)?;
        self.check_that_it_fires(sim, load, plan)
    }

    fn check_misfire(&self, sim: &SimJob, fires: &[&PlannedRun]) -> Result<(), Broken> {
        let misfire = &sim.job.policies.misfire;
        hold!(fires.len() <= sim.most_at_once(), "{} runs at once: {misfire:?}", fires.len());
        for run in fires {
            let late = self.now - run.slot_at.0;
            let most = misfire.max_lateness_seconds.map(|seconds| i64::from(seconds) * 1_000);
            hold!(most.is_none_or(|most| late <= most), "{late} ms late: {misfire:?}");
            hold!(
                misfire.mode != MisfireMode::Skip || late <= ON_TIME,
                "{late} ms late: {misfire:?}"
            );
        }
        Ok(())
    }

    /// A job at rest whose newest slot is on time has nothing to excuse it.
    fn check_that_it_fires(
        &self,
        sim: &SimJob,
        load: (u32, u32),
        plan: &ClaimPlan,
    ) -> Result<(), Broken> {
        let newest = plan.runs.last().expect("a claim has a row");
        let is_free = load == (0, 0) && sim.job.policies.cooldown_seconds.is_none();
        let on_time = self.now - newest.slot_at.0 <= ON_TIME;
        let must = is_free && on_time && !self.paused;
        hold!(
            !must || newest.state == RunState::Queued,
            "a slot on time does not fire: {newest:?}"
        );
        Ok(())
    }

    /// What waits and works after a claim fits the overlap policy.
    pub(super) fn check_overlap(&self, number: usize) -> Result<(), Broken> {
        let sim = &self.jobs[&number];
        let of_slots = |row: &&Row| row.job == number && !row.is_by_hand() && !row.is_again;
        let waiting =
            self.open.values().filter(of_slots).filter(|row| row.state == RunState::Queued);
        let (waiting, most) = (waiting.count(), sim.most_at_once());
        let overlap = sim.job.policies.overlap;
        let bound = match overlap {
            Overlap::CancelOther => 1,
            Overlap::Skip => most,
            Overlap::Queue => QUEUE_BOUND - 1 + most,
            Overlap::Parallel => sim.width() - 1 + most,
        };
        // What was let in under earlier policies may still wait.
        hold!(
            waiting <= bound.max(QUEUE_BOUND + 9),
            "{waiting} runs wait with {overlap:?}, {bound} may"
        );
        Ok(())
    }

    /// No lane is over its width, nor all of them over the cap.
    pub(super) fn check_places(&self) -> Result<(), Broken> {
        hold!(self.working.len() <= 4, "{} runs are at work", self.working.len());
        hold!(self.lanes.at_work() == self.working.len(), "the lanes count other places");
        for number in self.working.keys().map(|id| self.open[id].job) {
            let count = self.working.keys().filter(|id| self.open[*id].job == number).count();
            // An edit may have narrowed the lane meanwhile.
            hold!(count <= 3, "{count} runs of job {number} are at work");
        }
        Ok(())
    }

    /// (waiting, at work).
    pub(super) fn load_of(&self, number: usize) -> (u32, u32) {
        let of_job = self.open.values().filter(|row| row.job == number);
        let (waiting, at_work): (Vec<_>, Vec<_>) =
            of_job.partition(|row| row.state == RunState::Queued);
        let count = |rows: Vec<&Row>| u32::try_from(rows.len()).expect("few");
        (count(waiting), count(at_work))
    }

    pub(super) fn add(&mut self) {
        if self.jobs.len() < self.most_jobs {
            let sim = SimJob::random(&mut self.dice, self.next_job, self.now);
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
        let sim = self.jobs.get_mut(&number).expect("there");
        sim.edit(&mut self.dice, number, now);
        let width = sim.width();
        let lane = rouse_scheduler::lanes::LaneKey::Job(rouse_core::JobId::new(number.to_string()));
        self.lanes.set_width(&lane, width);
    }

    pub(super) fn remove(&mut self) -> Result<(), Broken> {
        match self.any_job() {
            Some(number) if self.is_up => self.delete(number),
            _ => Ok(()),
        }
    }

    pub(super) fn switch(&mut self) -> Result<(), Broken> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let now = self.now;
        let sim = self.jobs.get_mut(&number).expect("there");
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
        self.paused = !self.paused;
        if self.paused { self.skip_waiting(None) } else { Ok(()) }
    }

    pub(super) fn run_by_hand(&mut self) -> Result<(), Broken> {
        let Some(number) = self.any_job().filter(|_| self.is_up) else { return Ok(()) };
        let width = self.jobs[&number].width();
        self.made += 1;
        let row = Row {
            job: number,
            slot: None,
            trigger: RunTrigger::Manual,
            state: RunState::Queued,
            is_again: false,
        };
        self.enqueue(row, width);
        self.start_startable()
    }

    fn any_job(&mut self) -> Option<usize> {
        let numbers: Vec<usize> = self.jobs.keys().copied().collect();
        (!numbers.is_empty()).then(|| *self.dice.pick(&numbers))
    }
}
