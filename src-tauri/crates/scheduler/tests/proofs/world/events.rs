//! Follow-up jobs: fired once by each end of their source, with the policies of slots.
//!
//! An end and the fired rows are a single write, so a crash finds both or none.
//! Pitfall: an interrupted run with a catch-up run fires nothing, or two ends report the same work.

use rouse_core::decide::{EventPlan, plan_event};
use rouse_core::job::{Overlap, ScheduleSpec};
use rouse_core::{Cause, Run, RunState, RunTrigger, UnixMs};

use super::life::run_of;
use super::rules::QUEUE_BOUND;
use super::shape::{ScheduleShape, job_id};
use super::{SimRow, SimWorld, Violation, ensure};

/// How many jobs may fire each other in a row.
const LONGEST_CHAIN: usize = 8;

impl SimWorld {
    /// Fires the follow-up jobs of a run that had started.
    pub(super) fn fire(&mut self, id: u64, row: &SimRow, state: RunState) -> Result<(), Violation> {
        let waits = |sim: &super::job::SimJob| {
            sim.job.enabled
                && matches!(sim.shape, ScheduleShape::After(source) if source == row.job)
        };
        let waiting = self.jobs.iter().filter(|(number, sim)| **number != row.job && waits(sim));
        let waiting: Vec<usize> = waiting.map(|(number, _)| *number).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let run = Run { job_id: Some(job_id(row.job)), ..run_of(id, row) };
        let now = UnixMs(self.now);
        let cause = Cause::end_of_run(&run, state, None, row.cause.as_ref(), now);
        let cause = cause.ok_or_else(|| format!("run {id} has no end"))?;
        // Skipped runs match only triggers with that state.
        let tells = state.is_failure()
            || matches!(state, RunState::Succeeded | RunState::NothingToReport)
            || state == RunState::Interrupted;
        self.required += if tells { waiting.len() } else { 0 };
        for number in waiting {
            let sim = &self.jobs[&number];
            let ScheduleSpec::Event(trigger) = &sim.job.schedule.spec else {
                return Err(format!("job {number} waits for no event"));
            };
            let hears = cause.matches(trigger, &sim.job.id);
            ensure!(hears == tells, "job {number} hears {hears} of a run that is {state:?}");
            if hears {
                self.fire_one(number, id, cause.clone())?;
            }
        }
        Ok(())
    }

    fn fire_one(&mut self, number: usize, id: u64, cause: Cause) -> Result<(), Violation> {
        ensure!(self.fired.insert((number, id)), "job {number} fires again for run {id}");
        self.reset_idle_bounds(number);
        let load = self.load_of(number);
        let Some(sim) = self.jobs.get(&number) else { return Ok(()) };
        let plan = plan_event(&sim.job, load, &cause, UnixMs(self.now), &self.firing());
        self.check_fired(number, load, &cause, &plan)?;
        let width = self.jobs[&number].width();
        let mut replaced = Vec::new();
        if plan.cancel_others {
            replaced = self.replace_runs_of(number)?;
            // During recovery, earlier queued runs are in no lane yet.
            let waits = |row: &SimRow| row.job == number && row.state == RunState::Queued;
            let left = self.open.iter().filter(|(_, row)| waits(row)).map(|(id, _)| *id);
            for id in left.collect::<Vec<_>>() {
                self.close(id)?;
            }
        }
        self.made += 1;
        match plan.state {
            RunState::Queued => {
                let cause = Some(cause);
                self.enqueue(
                    SimRow { cause, ..SimRow::new(number, None, RunTrigger::Event) },
                    width,
                );
            }
            _ => self.ended += 1,
        }
        self.end_replaced(replaced)?;
        self.check_overlap(number)
    }

    /// The policies of slots, without lateness.
    fn check_fired(
        &self,
        number: usize,
        (queued, active): (u32, u32),
        cause: &Cause,
        plan: &EventPlan,
    ) -> Result<(), Violation> {
        let sim = &self.jobs[&number];
        let (waiting, open) = (queued as usize, (queued + active) as usize);
        let is_let_in = match sim.job.policies.overlap {
            Overlap::Skip => open == 0,
            Overlap::Queue => waiting < QUEUE_BOUND,
            Overlap::Parallel => open < sim.width(),
            Overlap::CancelOther => true,
        };
        let fires = plan.state == RunState::Queued;
        let may = is_let_in && !self.is_paused() && cause.chain.len() <= LONGEST_CHAIN;
        ensure!(may || !fires, "job {number} is fired beside {waiting} of {open} runs: {plan:?}");
        let must = may && sim.job.policies.cooldown_seconds.is_none();
        ensure!(!must || fires, "job {number} is not fired with {open} runs: {plan:?}");
        let cancels = sim.job.policies.overlap == Overlap::CancelOther && fires && open > 0;
        ensure!(plan.cancel_others == cancels, "job {number} with {open} runs: {plan:?}");
        Ok(())
    }
}
