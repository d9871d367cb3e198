//! Approvals: parking runs, taking decisions, and resuming parked runs.
//!
//! A run that needs approvals is parked: approvals and state are committed together, and lane and permit are free
//! before the notification. Later slots of the job fire meanwhile. The last decision, or the expiry, queues the run
//! again, and the runner finds the decisions in the store. Only this module takes decisions, so the first of two
//! simultaneous decisions counts. A decision is committed before any other read; the engine retries after a later
//! failure, and the person sees no error.
//! Pitfall: do not keep a parked run as an active run, because a restart would lose the run.

use std::sync::Arc;

use rouse_core::approval::{Approval, ApprovalDecision, DecisionSource};
use rouse_core::decide::announce_approval;
use rouse_core::{ApprovalId, DeliveryId, Outcome, Run, RunTrigger};
use rouse_store::{DecisionResult, ParkRequest, StoreError};
use tracing::field::display;

use super::Engine;
use crate::error::SchedulerError;
use crate::state::active_run::Phase;
use crate::state::parked_runs::ParkedRuns;

impl Engine {
    /// Parks a run whose attempt has ended in approvals. If the job was deleted meanwhile, the attempt continues with
    /// the approvals denied: the payload would not be known after a decision.
    pub(super) async fn park(&mut self, run: &Run, outcome: &Outcome) -> Result<(), StoreError> {
        let now = self.clock.now();
        let job = self.job_of(run).await?;
        let (key, channels) = (DeliveryId::generate(now), &self.channels.now());
        let deliveries = announce_approval(job.as_ref(), run, &outcome.approvals, key, channels);
        let park = ParkRequest {
            run_id: run.id.clone(),
            approvals: outcome.approvals.clone(),
            usage: outcome.usage,
            worked_ms: run.worked_ms,
            deliveries,
            now,
        };
        let is_parked = match self.store.park_run(&park).await {
            Err(StoreError::NotFound { .. }) => {
                if let Some(mut active) = self.active.remove(&run.id) {
                    let job = active.job.as_deref();
                    let attempt = self.active.spawn_attempt(&active.run, job, &active.cancel);
                    active.phase = Phase::Attempt(attempt);
                    self.active.insert(active);
                }
                return Ok(());
            }
            parked => parked?.is_some(),
        };
        self.release(&run.id);
        if is_parked {
            let (job_id, name) = (run.job_id.as_ref().map(display), run.name_for_log());
            let approvals = outcome.approvals.len();
            tracing::info!(job_id, run_id = %run.id, name, approvals, "a run was parked for an approval");
            self.parked.park(run.clone());
            self.outbox.notify_one();
        }
        Ok(())
    }

    /// Loads the parked runs. Runs with all decisions are among the queued runs.
    pub(super) async fn load_parked(&mut self) -> Result<(), StoreError> {
        self.parked = ParkedRuns::load(self.store.parked_runs().await?);
        Ok(())
    }

    /// Takes a decision. The first decision counts, unless the approval has expired.
    pub(super) async fn decide(
        &mut self,
        id: &ApprovalId,
        answer: &ApprovalDecision,
        from: DecisionSource,
    ) -> Result<DecisionResult, SchedulerError> {
        // A late decision then gets "expired" as its answer.
        self.expire_approvals().await?;
        let decided = self.store.decide_approval(id, answer, from, self.clock.now()).await?;
        if let DecisionResult::Counts { approval, resumed } = &decided {
            let run = match resumed.iter().find(|run| run.id == approval.run_id) {
                Some(run) => Ok(Some(run.clone())),
                None => self.store.run(&approval.run_id).await,
            };
            let run = run.unwrap_or_else(|error| {
                tracing::debug!(%error, "the run of an approval cannot be read");
                None
            });
            log_decision(approval, run.map(|run| run.name_for_log()));
            self.parked.invalidate_expiry();
            for run in resumed {
                self.parked.resume(run.clone());
            }
        }
        Ok(decided)
    }

    /// Expires approvals, and queues the parked runs that continue.
    pub(super) async fn resume_parked_runs(&mut self) -> Result<(), StoreError> {
        self.expire_approvals().await?;
        while let Some(run) = self.parked.next_resumed() {
            let job = self.job_of(run).await?.map(Arc::new);
            let Some(run) = self.parked.pop_resumed() else { break };
            if run.trigger == RunTrigger::Heartbeat {
                self.heartbeat.begin_run();
            }
            self.enqueue(run, job);
        }
        self.read_next_expiry().await
    }

    async fn read_next_expiry(&mut self) -> Result<(), StoreError> {
        if self.parked.is_expiry_stale() {
            self.parked.set_next_expiry(self.store.next_approval_expiry().await?);
        }
        Ok(())
    }

    async fn expire_approvals(&mut self) -> Result<(), StoreError> {
        self.read_next_expiry().await?;
        let now = self.clock.now();
        if self.parked.next_expiry().is_none_or(|expiry| expiry > now) {
            return Ok(());
        }
        for run in self.store.expire_approvals(now).await? {
            let (job_id, name) = (run.job_id.as_ref().map(display), run.name_for_log());
            tracing::info!(job_id, run_id = %run.id, name, "an approval expired");
            self.parked.resume(run);
        }
        self.parked.invalidate_expiry();
        Ok(())
    }
}

fn log_decision(approval: &Approval, name: Option<String>) {
    let job_id = approval.job_id.as_ref().map(display);
    tracing::info!(job_id, run_id = %approval.run_id, name, tool = approval.tool,
        answer = approval.state.name(), "an approval was decided");
}
