//! Parked runs: runs that wait for an approval.
//!
//! Owns the parked rows, the next expiry, and the continuing runs between two reads of the store.

use std::collections::VecDeque;

use rouse_core::{JobId, Run, RunId, UnixMs};

/// Parked runs and the next expiry of an approval.
#[derive(Debug, Default)]
pub(crate) struct ParkedRuns {
    parked: Vec<Run>,
    /// Runs that the store has as queued again, and that are not in their lanes yet.
    resumed: VecDeque<Run>,
    next_expiry: Option<UnixMs>,
    /// Whether approvals have changed since `next_expiry` was read.
    is_expiry_stale: bool,
}

impl ParkedRuns {
    /// The parked runs of an earlier process.
    pub(crate) fn load(parked: Vec<Run>) -> Self {
        Self { parked, is_expiry_stale: true, ..Self::default() }
    }

    /// Adds a run that was parked.
    pub(crate) fn park(&mut self, run: Run) {
        self.parked.push(run);
        self.is_expiry_stale = true;
    }

    /// Adds a run that the store has queued again.
    pub(crate) fn resume(&mut self, run: Run) {
        self.parked.retain(|parked| parked.id != run.id);
        self.resumed.push_back(run);
    }

    /// The next resumed run, to be put into its lane.
    pub(crate) fn next_resumed(&self) -> Option<&Run> {
        self.resumed.front()
    }

    pub(crate) fn pop_resumed(&mut self) -> Option<Run> {
        self.resumed.pop_front()
    }

    /// Parked and resumed runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.parked.iter().chain(&self.resumed)
    }

    pub(crate) fn remove(&mut self, id: &RunId) {
        self.parked.retain(|run| run.id != *id);
        self.resumed.retain(|run| run.id != *id);
    }

    /// Removes the runs of a job.
    pub(crate) fn remove_of_job(&mut self, job: &JobId) -> Vec<RunId> {
        let is_of_job = |run: &Run| run.job_id.as_ref() == Some(job);
        let removed = self.iter().filter(|run| is_of_job(run)).map(|run| run.id.clone()).collect();
        self.parked.retain(|run| !is_of_job(run));
        self.resumed.retain(|run| !is_of_job(run));
        removed
    }

    /// When the first open approval expires, as last read.
    pub(crate) const fn next_expiry(&self) -> Option<UnixMs> {
        self.next_expiry
    }

    pub(crate) const fn is_expiry_stale(&self) -> bool {
        self.is_expiry_stale
    }

    pub(crate) const fn set_next_expiry(&mut self, expiry: Option<UnixMs>) {
        self.next_expiry = expiry;
        self.is_expiry_stale = false;
    }

    /// Notes that approvals came, went or moved.
    pub(crate) const fn invalidate_expiry(&mut self) {
        self.is_expiry_stale = true;
    }
}
