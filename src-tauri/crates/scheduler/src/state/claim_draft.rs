//! Claims of due slots, before and after their commit.

use std::sync::Arc;

use rouse_core::job::Job;
use rouse_core::{Run, RunState, UnixMs};
use rouse_store::{Claim, PreparedClaim};

use super::event_run::EventRun;
use super::lanes::Startable;
use super::queued_run::QueuedRun;

/// The planned claim of a job's slots.
pub(crate) struct PlannedClaim {
    pub(crate) claim: Claim,
    pub(crate) follow_up: ClaimFollowUp,
}

/// The effects of a claim in memory.
pub(crate) struct ClaimFollowUp {
    pub(crate) job: Arc<Job>,
    /// Whether the runs replace the other runs of the job.
    pub(crate) cancels_others: bool,
}

impl PlannedClaim {
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&Arc<Job>, &Run)> {
        self.claim.runs.iter().map(|run| (&self.follow_up.job, run))
    }

    /// Whether all slots fire: none is skipped, and none replaces another run.
    pub(crate) fn only_fires(&self) -> bool {
        let is_queued = |run: &Run| run.state == RunState::Queued;
        !self.follow_up.cancels_others && self.claim.runs.iter().all(is_queued)
    }
}

/// Claims for one transaction, with the effects in memory.
pub(crate) struct ClaimDraft {
    pub(crate) claims: Vec<Claim>,
    pub(crate) follow_ups: Vec<ClaimFollowUp>,
    /// The runs that start with the claim.
    pub(crate) startable: Vec<Startable<QueuedRun>>,
    /// The runs that skipped and missed slots among the claims fire.
    pub(crate) event_runs: Vec<EventRun>,
}

/// Claims in an open transaction, to be committed at their instant.
pub(crate) struct StagedClaims {
    pub(crate) at: UnixMs,
    pub(crate) drafts: Vec<ClaimDraft>,
    pub(crate) transaction: PreparedClaim,
}

impl StagedClaims {
    /// Waits until another writer needs the database.
    pub(crate) async fn is_wanted(staged: Option<&Self>) {
        match staged {
            Some(staged) => staged.transaction.wait_for_writer().await,
            None => std::future::pending().await,
        }
    }
}
