//! The table `approvals`: pending requests to a person, and their decisions.
//!
//! Owns rows and queries; decisions and parked runs are in `tx::approve`. Never judges whether a call needs an approval.

use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalScope, ApprovalState, ApprovalStateKind, Authorization,
    DecisionSource, DecisionSurface,
};
use rouse_core::event::EventKind;
use rouse_core::input_request::InputAnswer;
use rouse_core::{ApprovalId, DeliveryId, JobId, RunId, UnixMs};
use serde_json::json;

use super::event_data::approval_event;
use super::grants::use_grant;
use crate::sql::{
    FromColumns, Query, RowReader, Store, StoreError, Transaction, by_index, from_columns,
    json_with_field, unknown_name,
};

/// The columns that `Approval` reads, in order.
macro_rules! approval_columns {
    () => {
        "id, run_id, job_id, job_name, call_id, tool, arguments, surroundings, fingerprint, preview, why, is_highest,
         asked_at, expires_at, state, scope, reason, decided_at, answered_from, decided_by, used_at, input"
    };
}
pub(crate) use approval_columns;

const INSERT: &str = concat!(
    "INSERT INTO approvals (",
    approval_columns!(),
    ", lifetime_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'pending', NULL, NULL, NULL, NULL,
        NULL, NULL, $15, $16)"
);
pub(crate) const GET: &str =
    concat!("SELECT ", approval_columns!(), " FROM approvals WHERE id = $1");
pub(crate) const PENDING: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals WHERE state = 'pending' ORDER BY expires_at, id"
);
pub(crate) const NEWEST: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals ORDER BY asked_at DESC, id DESC LIMIT $1"
);
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM approvals WHERE run_id = $1 ORDER BY asked_at, id"
);
pub(crate) const NEXT_EXPIRY: &str =
    "SELECT min(expires_at) FROM approvals WHERE state = 'pending'";
const DECIDE: &str = concat!(
    "UPDATE approvals SET state = $2, scope = $3, reason = $4, decided_at = $5, answered_from = $6, decided_by = $8,
        input = ",
    json_with_field!("input", "answer", "$7"),
    " WHERE id = $1 AND state = 'pending' AND expires_at > $5 RETURNING ",
    approval_columns!()
);
/// The pending approvals of a job, the oldest first.
pub(crate) const PENDING_OF_JOB: &str = concat!(
    "SELECT ",
    approval_columns!(),
    " FROM ",
    by_index!("approvals", "approvals_pending"),
    " WHERE state = 'pending' AND job_id = $1 ORDER BY asked_at, id"
);
const COVER: &str = concat!(
    "UPDATE approvals SET state = 'covered', decided_at = $2 WHERE id = $1 RETURNING ",
    approval_columns!()
);
pub(crate) const EXPIRE: &str = concat!(
    "UPDATE approvals SET state = 'expired', decided_at = $1
     WHERE state = 'pending' AND expires_at <= $1 RETURNING ",
    approval_columns!()
);
pub(crate) const DELAY_EXPIRY: &str = concat!(
    "UPDATE approvals SET expires_at = $2 + lifetime_ms WHERE run_id = $1 AND state = 'pending' RETURNING ",
    approval_columns!()
);
/// The pending approvals that the delivery announces, unless another delivery of theirs has arrived.
pub(crate) const DELAY_EXPIRY_OF_UNSEEN: &str = concat!(
    "UPDATE approvals SET expires_at = $2 + lifetime_ms
     WHERE state = 'pending' AND run_id = (SELECT run_id FROM outbox WHERE id = $1 AND kind = 'approval')
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = approvals.run_id AND kind = 'approval'
            AND outbox.state = 'delivered' AND outbox.id <> $1 AND outbox.created_at >= asked_at) RETURNING ",
    approval_columns!()
);
/// Approvals requested later than now.
pub(crate) const SHIFT: &str = concat!(
    "UPDATE approvals SET asked_at = $1, expires_at = $1 + lifetime_ms
     WHERE state = 'pending' AND asked_at > $1 RETURNING ",
    approval_columns!()
);
// A refused or expired input request also permits one call, which has the refusal as its answer.
const USE: &str = "UPDATE approvals SET used_at = $2
    WHERE id = $1 AND (used_at IS NULL OR scope <> 'once')
        AND (state = 'approved' OR input IS NOT NULL AND state IN ('denied', 'expired'))";

from_columns!(
    Approval:
    id, run_id, job_id, job_name, call_id, tool, arguments, surroundings, fingerprint, preview,
    reason, is_highest, requested_at, expires_at, state, decided_from, used_at, input
);

/// Two columns: surface and name; none before a decision.
impl FromColumns<'_> for Option<DecisionSource> {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (surface, name) = row.read::<(Option<DecisionSurface>, Option<String>)>()?;
        Ok(surface.map(|surface| DecisionSource { surface, name }))
    }
}

/// Four columns: name, scope, reason and instant of the decision.
impl FromColumns<'_> for ApprovalState {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let kind: ApprovalStateKind = row.read()?;
        let (scope, reason, decided_at) =
            row.read::<(Option<ApprovalScope>, Option<String>, _)>()?;
        match (kind, scope, decided_at) {
            (ApprovalStateKind::Pending, _, _) => Ok(Self::Pending),
            (ApprovalStateKind::Approved, Some(scope), Some(at)) => {
                Ok(Self::Approved { scope, at })
            }
            (ApprovalStateKind::Denied, _, Some(at)) => Ok(Self::Denied { reason, at }),
            (ApprovalStateKind::Expired, _, Some(at)) => Ok(Self::Expired { at }),
            (ApprovalStateKind::Withdrawn, _, Some(at)) => Ok(Self::Withdrawn { at }),
            (ApprovalStateKind::Covered, _, Some(at)) => Ok(Self::Covered { at }),
            _ => Err(unknown_name(kind.into())),
        }
    }
}

impl Store {
    /// When the first pending approval expires.
    pub async fn next_approval_expiry(&self) -> Result<Option<UnixMs>, StoreError> {
        self.fetch_or_default("read the approvals", sqlx::query(NEXT_EXPIRY)).await
    }

    /// One approval.
    pub async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        self.fetch_optional("read the approval", sqlx::query(GET).bind(id.as_str())).await
    }

    /// The pending approvals, the first to expire first.
    pub async fn pending_approvals(&self) -> Result<Vec<Approval>, StoreError> {
        self.fetch_all("read the approvals", sqlx::query(PENDING)).await
    }

    /// The newest approvals in any state.
    pub async fn newest_approvals(&self, limit: u32) -> Result<Vec<Approval>, StoreError> {
        self.fetch_all("read the approvals", sqlx::query(NEWEST).bind(limit)).await
    }

    /// The approvals of a run, in order.
    pub async fn approvals_of_run(&self, run: &RunId) -> Result<Vec<Approval>, StoreError> {
        self.fetch_all("read the approvals", sqlx::query(OF_RUN).bind(run.as_str())).await
    }
}

/// Inserts a pending approval. Event `approval`.
pub(crate) async fn insert_approval(
    tx: &mut Transaction,
    approval: &Approval,
) -> Result<(), StoreError> {
    let query = sqlx::query(INSERT)
        .bind(approval.id.as_str())
        .bind(approval.run_id.as_str())
        .bind(approval.job_id.as_ref().map(JobId::as_str))
        .bind(approval.job_name.as_str())
        .bind(approval.call_id.as_str())
        .bind(approval.tool.as_str())
        .bind(approval.arguments.to_string())
        .bind(json!(approval.surroundings).to_string())
        .bind(approval.fingerprint.as_str())
        .bind(approval.preview.as_str())
        .bind(approval.reason.as_str())
        .bind(approval.is_highest)
        .bind(approval.requested_at.0)
        .bind(approval.expires_at.0)
        .bind(approval.input.as_ref().map(|input| json!(input).to_string()))
        .bind(approval.expires_at.0 - approval.requested_at.0);
    tx.execute(query).await?;
    tx.emit(EventKind::Approval, approval_event(approval));
    Ok(())
}

/// Writes the decision of an approval; none unless pending and not expired. Event `approval`.
pub(crate) async fn write_decision(
    tx: &mut Transaction,
    id: &ApprovalId,
    answer: &ApprovalDecision,
    from: &DecisionSource,
) -> Result<Option<Approval>, StoreError> {
    let (state, scope, reason) = match answer {
        ApprovalDecision::Once => ("approved", Some(ApprovalScope::Once), None),
        ApprovalDecision::Run => ("approved", Some(ApprovalScope::Run), None),
        ApprovalDecision::Always(_) => ("approved", Some(ApprovalScope::Always), None),
        ApprovalDecision::Deny { reason } => ("denied", None, reason.as_deref()),
        ApprovalDecision::Answer(InputAnswer::Accept { .. }) => {
            ("approved", Some(ApprovalScope::Once), None)
        }
        ApprovalDecision::Answer(InputAnswer::Decline | InputAnswer::Cancel) => {
            ("denied", None, None)
        }
    };
    let input_answer = match answer {
        ApprovalDecision::Answer(answer) => Some(json!(answer).to_string()),
        _ => None,
    };
    let query = sqlx::query(DECIDE)
        .bind(id.as_str())
        .bind(state)
        .bind(scope.map(ApprovalScope::name))
        .bind(reason)
        .bind(tx.now().0)
        .bind(from.surface.name())
        .bind(input_answer)
        .bind(from.name.as_deref());
    Ok(change_approvals(tx, query).await?.pop())
}

/// The pending approvals of a job, the oldest first.
pub(crate) async fn pending_approvals_of_job(
    tx: &mut Transaction,
    job: &JobId,
) -> Result<Vec<Approval>, StoreError> {
    tx.fetch_all(sqlx::query(PENDING_OF_JOB).bind(job.as_str())).await
}

/// Ends a pending approval that a new grant answers. Event `approval`.
pub(crate) async fn cover_approval(
    tx: &mut Transaction,
    id: &ApprovalId,
) -> Result<(), StoreError> {
    let query = sqlx::query(COVER).bind(id.as_str()).bind(tx.now().0);
    change_approvals(tx, query).await.map(drop)
}

/// Ends the pending approvals whose lifetime is over, without events.
pub(crate) async fn expire_pending(tx: &mut Transaction) -> Result<Vec<Approval>, StoreError> {
    tx.fetch_all(sqlx::query(EXPIRE).bind(tx.now().0)).await
}

/// Begins the lifetime of a run's pending approvals anew at `from`, when their delivery is held or released. Events
/// `approval`.
pub(crate) async fn delay_expiry(
    tx: &mut Transaction,
    run: &RunId,
    from: UnixMs,
) -> Result<(), StoreError> {
    let query = sqlx::query(DELAY_EXPIRY).bind(run.as_str()).bind(from.0);
    change_approvals(tx, query).await.map(drop)
}

/// Begins the lifetime of the approvals that `delivery` announces at `from`, unless the person has seen them on another
/// route. Events `approval`.
pub(crate) async fn delay_expiry_of_unseen(
    tx: &mut Transaction,
    delivery: &DeliveryId,
    from: UnixMs,
) -> Result<(), StoreError> {
    let query = sqlx::query(DELAY_EXPIRY_OF_UNSEEN).bind(delivery.as_str()).bind(from.0);
    change_approvals(tx, query).await.map(drop)
}

/// After a clock rollback, shifts approvals requested later than now, with unchanged lifetime. Returns whether there were
/// any. Events `approval`.
pub(crate) async fn shift_approvals(tx: &mut Transaction) -> Result<bool, StoreError> {
    let query = sqlx::query(SHIFT).bind(tx.now().0);
    Ok(!change_approvals(tx, query).await?.is_empty())
}

/// Executes an update of approvals and emits their events.
async fn change_approvals(tx: &mut Transaction, query: Query) -> Result<Vec<Approval>, StoreError> {
    let changed = tx.fetch_all(query).await?;
    for approval in &changed {
        tx.emit(EventKind::Approval, approval_event(approval));
    }
    Ok(changed)
}

/// Uses the approval or grant that permits a call; false if no longer valid.
pub(crate) async fn use_permit(
    tx: &mut Transaction,
    permit: &Authorization,
) -> Result<bool, StoreError> {
    match permit {
        Authorization::Approval(id) => {
            Ok(tx.execute(sqlx::query(USE).bind(id.as_str()).bind(tx.now().0)).await? > 0)
        }
        Authorization::Grant(id) => use_grant(tx, id).await,
    }
}
