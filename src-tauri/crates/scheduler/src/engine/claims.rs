//! Claims: from planned claims to rows in the store and runs in their lanes.
//!
//! Pitfall: replace a job's other runs only after the commit, or a crash in between leaves neither run.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::{Run, RunId, RunState, UnixMs};
use rouse_store::{Claim, ClaimResult, CoalescedSlot, StoreError};

use super::Engine;
use super::run_log::log_unstarted_end;
use crate::state::claim_draft::{ClaimDraft, ClaimFollowUp, PlannedClaim};
use crate::state::event_run::{EventRun, fired_rows};
use crate::state::lanes::Startable;
use crate::state::queued_run::{QueuedRun, started_run};
use crate::status::TickReport;

impl Engine {
    /// Commits planned claims and applies their effects.
    pub(super) async fn claim(
        &mut self,
        mut planned: Vec<PlannedClaim>,
        now: UnixMs,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        let runs = || planned.iter().flat_map(PlannedClaim::runs);
        let missed = self.missed_notices(runs()).await?;
        let mut causes = self.skipped_run_causes(runs().map(|(_, run)| run));
        causes.extend(self.missed_notice_causes(&missed, runs().map(|(_, run)| run)));
        let event_runs = self.plan_event_runs(causes).await?;
        // All in the same claim, so that two rows that fire the same job meet the overlap policy.
        if let Some(first) = planned.first_mut() {
            first.claim.fired = fired_rows(&event_runs);
        }
        let draft = self.draft_claims(planned, event_runs, self.clock.now());
        match self.store.claim_with_notices(&draft.claims, &missed, now).await {
            Ok(claimed) => {
                if !missed.is_empty() {
                    self.outbox.notify_one();
                }
                self.apply_claims(draft, claimed, report);
                Ok(())
            }
            Err(error) => {
                self.discard_drafts(vec![draft]);
                Err(error)
            }
        }
    }

    /// Puts the planned runs into their lanes. Runs with a permit will start at `start_at`.
    pub(super) fn draft_claims(
        &mut self,
        mut planned: Vec<PlannedClaim>,
        event_runs: Vec<EventRun>,
        start_at: UnixMs,
    ) -> ClaimDraft {
        let startable = self.reserve_starts(&mut planned, start_at);
        let (claims, follow_ups) =
            planned.into_iter().map(|planned| (planned.claim, planned.follow_up)).unzip();
        ClaimDraft { claims, follow_ups, startable, event_runs }
    }

    /// Puts the planned runs into their lanes and marks runs that may start at once as running, which saves a
    /// transaction between slot and start. A run that replaces others is queued after the commit.
    fn reserve_starts(
        &mut self,
        planned: &mut [PlannedClaim],
        start_at: UnixMs,
    ) -> Vec<Startable<QueuedRun>> {
        for PlannedClaim { claim, follow_up } in &*planned {
            let runs = claim.runs.iter().filter(|_| !follow_up.cancels_others);
            for run in runs.filter(|run| run.state == RunState::Queued) {
                self.enqueue(run.clone(), Some(Arc::clone(&follow_up.job)));
            }
        }
        let startable = self.lanes.take_startable();
        // A run that became too late meanwhile is claimed as queued, and ends as missed.
        let in_time = startable.iter().filter(|run| run.load.missed(start_at).is_none());
        let ids: HashSet<&RunId> = in_time.map(|run| &run.id).collect();
        let mut started = HashSet::new();
        for run in planned.iter_mut().flat_map(|planned| &mut planned.claim.runs) {
            if ids.contains(&run.id) {
                started.insert(run.id.clone());
                *run = started_run(run.clone(), start_at);
            }
        }
        // Earlier runs are queued in the store; `start_runs` starts them.
        let (reserved, others) =
            startable.into_iter().partition(|startable| started.contains(&startable.id));
        self.lanes.put_back(others);
        reserved
    }

    /// Restores the lanes after claims that were not committed.
    pub(super) fn discard_drafts(&mut self, drafts: Vec<ClaimDraft>) {
        let mut ids = HashSet::new();
        for ClaimDraft { startable, claims, .. } in drafts {
            self.lanes.put_back(startable);
            ids.extend(claims.into_iter().flat_map(|claim| claim.runs).map(|run| run.id));
        }
        self.lanes.remove_where(|queued| ids.contains(&queued.run.id));
    }

    /// Follows up claims that were committed exactly as planned.
    pub(super) fn apply_staged_claims(&mut self, draft: ClaimDraft, report: &mut TickReport) {
        let runs = draft.claims.iter().flat_map(|claim| &claim.runs);
        let runs = runs.map(|run| run.id.clone()).collect();
        self.apply_claims(draft, ClaimResult { runs, coalesced: Vec::new() }, report);
    }

    /// Follows up committed claims.
    fn apply_claims(&mut self, draft: ClaimDraft, claimed: ClaimResult, report: &mut TickReport) {
        let ClaimDraft { claims, follow_ups, startable, event_runs } = draft;
        let inserted: HashSet<RunId> = claimed.runs.into_iter().collect();
        report.claimed += claims.len();
        report.started.extend(self.start_attempts(startable, |id| inserted.contains(id)));
        for (claim, follow_up) in claims.into_iter().zip(follow_ups) {
            report_counted_skips(&claim, &claimed.coalesced, report);
            self.apply_claim(claim, &follow_up, &inserted, report);
        }
        self.enqueue_event_runs(event_runs, |id| inserted.contains(id));
        tracing::debug!(jobs = report.claimed, queued = report.queued.len(), "slots were claimed");
    }

    fn apply_claim(
        &mut self,
        claim: Claim,
        follow_up: &ClaimFollowUp,
        inserted: &HashSet<RunId>,
        report: &mut TickReport,
    ) {
        let is_new = |run: &Run| inserted.contains(&run.id);
        if follow_up.cancels_others && claim.runs.iter().any(is_new) {
            self.replace_runs_of(&claim.job_id);
        }
        for run in claim.runs {
            match (is_new(&run), run.state) {
                (true, RunState::Queued | RunState::Running) => {
                    report.queued.push(run.id.clone());
                    if follow_up.cancels_others {
                        self.enqueue(run, Some(Arc::clone(&follow_up.job)));
                    }
                }
                (true, _) => {
                    log_unstarted_end(&run, run.state, run.reason.as_deref(), run.created_at);
                    report.quiet.push(run.id);
                }
                // The slot had fired already.
                (false, RunState::Queued) => drop(self.lanes.remove(&run.id)),
                (false, _) => {}
            }
        }
    }
}

/// Reports skipped slots that the store counted into an earlier row.
fn report_counted_skips(claim: &Claim, counted: &[CoalescedSlot], report: &mut TickReport) {
    for run in &claim.runs {
        let Some(counted) = counted.iter().find(|counted| counted.planned == run.id) else {
            continue;
        };
        let row = Run { id: counted.into.clone(), ..run.clone() };
        log_unstarted_end(&row, row.state, row.reason.as_deref(), row.created_at);
        report.quiet.push(row.id);
    }
}
