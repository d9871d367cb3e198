//! Jobs that are fired by the ends of the runs of others: once by each, with the policies that slots meet.
//!
//! The end and the rows that it fires are one write, so a crash finds both or none. One could get it wrong by firing with
//! the end of a run that another one makes up for: then two ends would tell of the same work.

use rouse_core::decide::{EventPlan, plan_event};
use rouse_core::job::{Overlap, ScheduleSpec};
use rouse_core::{Cause, Run, RunState, RunTrigger, UnixMs};

use super::life::run_of;
use super::rules::QUEUE_BOUND;
use super::shape::{Shape, job_id};
use super::{Broken, Row, World, hold};

/// How many jobs may fire each other in a row.
const LONGEST_CHAIN: usize = 8;

impl World {
    /// Fires whoever waits for the end of this run, which had begun.
    pub(super) fn fire(&mut self, id: u64, row: &Row, state: RunState) -> Result<(), Broken> {
        let waits = |sim: &super::job::SimJob| {
            sim.job.enabled && matches!(sim.shape, Shape::After(source) if source == row.job)
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
        // What was left out is told to nobody who does not ask for it.
        let tells = state.is_failure()
            || matches!(state, RunState::Succeeded | RunState::NothingToReport)
            || state == RunState::Interrupted;
        self.owed += if tells { waiting.len() } else { 0 };
        for number in waiting {
            let sim = &self.jobs[&number];
            let ScheduleSpec::Event(trigger) = &sim.job.schedule.spec else {
                return Err(format!("job {number} waits for no event"));
            };
            let hears = cause.fits(trigger, &sim.job.id);
            hold!(hears == tells, "job {number} hears {hears} of a run that is {state:?}");
            if hears {
                self.fire_one(number, id, cause.clone())?;
            }
        }
        Ok(())
    }

    fn fire_one(&mut self, number: usize, id: u64, cause: Cause) -> Result<(), Broken> {
        hold!(self.heard.insert((number, id)), "job {number} fires again for run {id}");
        self.notice_idle(number);
        let load = self.load_of(number);
        let Some(sim) = self.jobs.get(&number) else { return Ok(()) };
        let plan = plan_event(&sim.job, load, &cause, UnixMs(self.now), &self.firing());
        self.check_fired(number, load, &cause, &plan)?;
        let width = self.jobs[&number].width();
        let mut replaced = Vec::new();
        if plan.cancel_others {
            replaced = self.replace_runs_of(number)?;
            // While the process starts, what waited in its earlier life is in no lane yet.
            let waits = |row: &Row| row.job == number && row.state == RunState::Queued;
            let left = self.open.iter().filter(|(_, row)| waits(row)).map(|(id, _)| *id);
            for id in left.collect::<Vec<_>>() {
                self.close(id)?;
            }
        }
        self.made += 1;
        match plan.state {
            RunState::Queued => {
                let cause = Some(cause);
                self.enqueue(Row { cause, ..Row::new(number, None, RunTrigger::Event) }, width);
            }
            _ => self.ended += 1,
        }
        self.end_replaced(replaced)?;
        self.check_overlap(number)
    }

    /// The policies are those of slots, but nothing is late.
    fn check_fired(
        &self,
        number: usize,
        (queued, active): (u32, u32),
        cause: &Cause,
        plan: &EventPlan,
    ) -> Result<(), Broken> {
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
        hold!(may || !fires, "job {number} is fired beside {waiting} of {open} runs: {plan:?}");
        let must = may && sim.job.policies.cooldown_seconds.is_none();
        hold!(!must || fires, "job {number} is not fired with {open} runs: {plan:?}");
        let cancels = sim.job.policies.overlap == Overlap::CancelOther && fires && open > 0;
        hold!(plan.cancel_others == cancels, "job {number} with {open} runs: {plan:?}");
        Ok(())
    }
}
