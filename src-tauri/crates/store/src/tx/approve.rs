//! Approvals and parked runs.
//!
//! Owns the order of decisions: the first decision wins; a run is parked together with the approvals and queued again together
//! with the last decision; a grant covers other pending approvals of the job in the same transaction.
//! Pitfall: reading that an approval is pending and writing the decision later; two people would both have decided.

use std::collections::BTreeSet;

use rouse_core::approval::{Approval, ApprovalDecision, DecisionSource, Grant};
use rouse_core::delivery::NewDelivery;
use rouse_core::event::EventKind;
use rouse_core::run::Usage;
use rouse_core::{ApprovalId, Run, RunId, UnixMs};

use crate::sql::{Batch, Durability, StatementResult, Store, StoreError, Transaction, bind_usage};
use crate::tables::approvals::{
    approval_columns, cover_approval, expire_pending, insert_approval, pending_approvals_of_job,
    write_decision,
};
use crate::tables::event_data::{approval_event, run_event};
use crate::tables::grants::insert_grant;
use crate::tables::jobs::job_exists;
use crate::tables::outbox::{enqueue, suppress_approval_deliveries};
use crate::tables::runs::{add_usage, run_columns};

const PARK: &str = concat!(
    "UPDATE runs SET state = 'awaitingApproval', worked_ms = $6, ",
    add_usage!("$2", "$3", "$4", "$5"),
    " WHERE id = $1 AND state = 'running' RETURNING ",
    run_columns!()
);
/// Unless another approval of the run is pending.
const UNPARK: &str = concat!(
    "UPDATE runs SET state = 'queued' WHERE id = $1 AND state = 'awaitingApproval'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = $1 AND state = 'pending') RETURNING ",
    run_columns!()
);
pub(crate) const WITHDRAW: &str = concat!(
    "UPDATE approvals SET state = 'withdrawn', decided_at = $2
     WHERE run_id = $1 AND state = 'pending' RETURNING ",
    approval_columns!()
);

/// A run to park, with approvals.
#[derive(Debug, Clone, PartialEq)]
pub struct ParkRequest {
    /// The run.
    pub run_id: RunId,
    /// The awaited approvals.
    pub approvals: Vec<Approval>,
    /// The usage since the last write.
    pub usage: Usage,
    /// The working time of the attempt.
    pub worked_ms: i64,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// The instant.
    pub now: UnixMs,
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecisionResult {
    /// The decision counts.
    Counts {
        /// The decided approval.
        approval: Box<Approval>,
        /// The runs that are queued again: the run after the last approval, and runs whose approvals a grant covers.
        resumed: Vec<Run>,
    },
    /// Decided before, expired, or the run is over: the stored approval.
    TooLate(Box<Approval>),
}

impl Store {
    /// Parks a running run with approvals and deliveries. Writes nothing and returns none if not running.
    ///
    /// # Errors
    /// `NotFound` if the job was deleted; the run is still running then.
    pub async fn park_run(&self, park: &ParkRequest) -> Result<Option<Run>, StoreError> {
        let mut tx = self.begin("park the run", Durability::Full, park.now).await?;
        let query = bind_usage(sqlx::query(PARK).bind(park.run_id.as_str()), park.usage);
        let run: Option<Run> = tx.fetch_optional(query.bind(park.worked_ms)).await?;
        let Some(run) = run else {
            tx.roll_back().await?;
            return Ok(None);
        };
        if let Some(job) = &run.job_id
            && !job_exists(&mut tx, job).await?
        {
            tx.roll_back().await?;
            return Err(StoreError::not_found("job", job));
        }
        for approval in &park.approvals {
            insert_approval(&mut tx, approval).await?;
        }
        for delivery in &park.deliveries {
            enqueue(&mut tx, Some(&run.id), delivery).await?;
        }
        tx.emit(EventKind::Run, run_event(&run));
        tx.commit().await?;
        Ok(Some(run))
    }

    /// Records a decision; the first decision counts. With a grant, inserts the grant and ends the covered pending approvals of
    /// the job.
    ///
    /// # Errors
    /// `NotFound` if the approval does not exist, or the job of a grant was deleted.
    pub async fn decide_approval(
        &self,
        id: &ApprovalId,
        answer: &ApprovalDecision,
        from: impl Into<DecisionSource>,
        now: UnixMs,
    ) -> Result<DecisionResult, StoreError> {
        let mut tx = self.begin("save the decision", Durability::Full, now).await?;
        let Some(approval) = write_decision(&mut tx, id, answer, &from.into()).await? else {
            tx.roll_back().await?;
            let stored = self.approval(id).await?;
            let stored = stored.ok_or_else(|| StoreError::not_found("approval", id))?;
            return Ok(DecisionResult::TooLate(Box::new(stored)));
        };
        let mut runs = BTreeSet::from([approval.run_id.clone()]);
        if let (ApprovalDecision::Always(grant), Some(job_id)) = (answer, &approval.job_id) {
            if !job_exists(&mut tx, job_id).await? {
                tx.roll_back().await?;
                return Err(StoreError::not_found("job", job_id));
            }
            let grant = insert_grant(&mut tx, grant, job_id, &approval.tool).await?;
            runs.extend(cover_pending(&mut tx, &grant).await?);
        }
        let mut resumed = Vec::new();
        for run in &runs {
            resumed.extend(resume_after_decision(&mut tx, run).await?);
        }
        tx.commit().await?;
        Ok(DecisionResult::Counts { approval: Box::new(approval), resumed })
    }

    /// Ends the pending approvals whose lifetime is over; returns the runs that are queued again.
    pub async fn expire_approvals(&self, now: UnixMs) -> Result<Vec<Run>, StoreError> {
        let mut tx = self.begin("expire the approvals", Durability::Full, now).await?;
        let expired = expire_pending(&mut tx).await?;
        if expired.is_empty() {
            tx.roll_back().await?;
            return Ok(Vec::new());
        }
        let mut resumed = Vec::new();
        for approval in &expired {
            tx.emit(EventKind::Approval, approval_event(approval));
            resumed.extend(resume_after_decision(&mut tx, &approval.run_id).await?);
        }
        tx.commit().await?;
        Ok(resumed)
    }
}

/// Ends the pending approvals that a new grant covers, up to its uses; returns the runs.
async fn cover_pending(tx: &mut Transaction, grant: &Grant) -> Result<Vec<RunId>, StoreError> {
    let pending = pending_approvals_of_job(tx, &grant.job_id).await?;
    let max = grant.uses_left.map_or(usize::MAX, |uses| uses as usize);
    let mut runs = Vec::new();
    for approval in pending.into_iter().filter(|pending| grant.covers_request(pending)).take(max) {
        cover_approval(tx, &approval.id).await?;
        runs.push(approval.run_id);
    }
    Ok(runs)
}

/// Queues a parked run again once no approval is pending, and suppresses the deliveries of approvals.
async fn resume_after_decision(
    tx: &mut Transaction,
    run: &RunId,
) -> Result<Option<Run>, StoreError> {
    suppress_approval_deliveries(tx, run).await?;
    let run: Option<Run> = tx.fetch_optional(sqlx::query(UNPARK).bind(run.as_str())).await?;
    if let Some(run) = &run {
        tx.emit(EventKind::Run, run_event(run));
    }
    Ok(run)
}

/// Withdraws the pending approvals of a run that is over.
pub(super) async fn withdraw_approvals(
    tx: &mut Transaction,
    run: &RunId,
) -> Result<(), StoreError> {
    let mut batch = Batch::default();
    add_withdrawal(&mut batch, run, tx.now());
    let results = tx.execute_batch(batch).await?;
    complete_withdrawal(tx, run, &results[0]).await
}

/// Adds the statement that withdraws the pending approvals of a run; `complete_withdrawal` takes the result.
pub(super) fn add_withdrawal(batch: &mut Batch, run: &RunId, now: UnixMs) {
    batch.add(WITHDRAW, |values| values.bind(run.as_str()).bind(now.0));
}

/// Emits the withdrawn approvals and suppresses their deliveries.
pub(super) async fn complete_withdrawal(
    tx: &mut Transaction,
    run: &RunId,
    result: &StatementResult,
) -> Result<(), StoreError> {
    let withdrawn: Vec<Approval> = tx.decode(result)?;
    for approval in &withdrawn {
        tx.emit(EventKind::Approval, approval_event(approval));
    }
    if !withdrawn.is_empty() {
        suppress_approval_deliveries(tx, run).await?;
    }
    Ok(())
}
