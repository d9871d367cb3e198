//! Runs that wait for other runs.
//!
//! A command of a run may start another one, a job's, a turn of the main session or a call of a tool, and wait for its end.
//! As long as it does, its run lends its place under the cap, so that the two cannot wait for each other: with one place for
//! all, the second could not begin before the first has ended.
//! A run that would wait for itself is refused instead: its lane, or that of one that waits for it or for what stands behind
//! it, is full, and no lane is wider than its job says. One could get it wrong by giving the place to the awaited run by
//! name: whoever has waited longest would be passed over, and the place be lost with a run that never begins.

use rouse_core::RunId;
use rouse_core::job::Job;

use crate::SchedulerError;
use crate::attempt::Work;
use crate::engine::Engine;
use crate::execute::{Waiting, lane_of, lane_width};
use crate::lanes::LaneKey;

/// How many runs of its lane may be at work at once.
fn width_of(waiting: &Waiting) -> usize {
    waiting.job.as_deref().map_or(1, lane_width)
}

impl Engine {
    /// Refuses a run of `job` that the run `by` would wait for, if it could only begin after that one.
    pub(crate) fn may_be_awaited(&self, job: &Job, by: &RunId) -> Result<(), SchedulerError> {
        match self.in_lane(&LaneKey::Job(job.id.clone()), by) < lane_width(job) {
            true => Ok(()),
            false => Err(SchedulerError::WaitsForItself { name: job.name.clone() }),
        }
    }

    /// Lets the run `by` wait for the run `id`, which waits or is at work itself.
    pub(crate) fn wait_for(&mut self, id: RunId, by: &RunId) -> Result<(), SchedulerError> {
        if id == *by {
            let name =
                self.running.get(by).map_or_else(String::new, |one| one.run.job_name.clone());
            return Err(SchedulerError::WaitsForItself { name });
        }
        let waits = self.lanes.waiting().find(|(waiting, _)| **waiting == id);
        if let Some((_, waiting)) = waits
            && self.in_lane(&lane_of(&waiting.run), by) >= width_of(waiting)
        {
            return Err(SchedulerError::WaitsForItself { name: waiting.run.job_name.clone() });
        }
        if self.is_going(&id) {
            self.lend_place(by, id);
        }
        Ok(())
    }

    /// How many of this run and those that it holds up are at work in `lane`.
    fn in_lane(&self, lane: &LaneKey, by: &RunId) -> usize {
        self.at_work_in(lane, &self.held_up_with(by))
    }

    fn at_work_in(&self, lane: &LaneKey, runs: &[&RunId]) -> usize {
        let is_in_lane = |id: &RunId| self.running.get(id).is_some_and(|one| one.lane == *lane);
        runs.iter().filter(|id| is_in_lane(id)).count()
    }

    /// This run, and what goes on only when it is over: those that wait for it, those whose lane is full of such runs, and
    /// those that wait for them.
    fn held_up_with<'e>(&'e self, by: &'e RunId) -> Vec<&'e RunId> {
        let mut held_up = vec![by];
        loop {
            let is_held_up = |id: &RunId| held_up.contains(&id);
            let waiting = self.running.iter().filter(|(_, one)| one.awaits.iter().any(is_held_up));
            let behind = self.lanes.waiting().filter(|(_, waits)| {
                self.at_work_in(&lane_of(&waits.run), &held_up) >= width_of(waits)
            });
            let all = waiting.map(|(id, _)| id).chain(behind.map(|(id, _)| id));
            let new: Vec<&RunId> = all.filter(|id| !is_held_up(id)).collect();
            if new.is_empty() {
                return held_up;
            }
            held_up.extend(new);
        }
    }

    /// Lets the run `by` wait for another one, if it is at work; others may have its place meanwhile.
    pub(crate) fn lend_place(&mut self, by: &RunId, awaited: RunId) {
        let Some(running) = self.running.get_mut(by) else { return };
        if !matches!(running.work, Work::Attempt(_)) {
            return;
        }
        if !running.awaits.contains(&awaited) {
            running.awaits.push(awaited);
        }
        if std::mem::take(&mut running.has_place) {
            self.lanes.rest(running.rank);
        }
    }

    /// Gives their places back to runs that wait for nobody any more; to be asked before places are given away. They are
    /// at work already, so they have theirs also where somebody else was faster: nothing begins until all fit again.
    pub(crate) fn take_places_back(&mut self) {
        let mut awaited = self.running.values().flat_map(|running| &running.awaits).peekable();
        if awaited.peek().is_none() {
            return;
        }
        let over: Vec<RunId> = awaited.filter(|id| !self.is_going(id)).cloned().collect();
        for running in self.running.values_mut().filter(|running| !running.awaits.is_empty()) {
            running.awaits.retain(|id| !over.contains(id));
            if running.awaits.is_empty() && !running.has_place {
                running.has_place = true;
                self.lanes.retake(running.rank);
            }
        }
    }

    /// Whether a run is in its lane, at work, or parked.
    fn is_going(&self, id: &RunId) -> bool {
        self.running.contains_key(id)
            || self.lanes.waiting().any(|(waiting, _)| waiting == id)
            || self.parked.has(id)
    }
}
