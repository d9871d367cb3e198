//! The table `grants`: standing permissions of jobs. A revoked grant stays on record.
//!
//! Owns insertion, use (in the transaction that journals the call) and revocation. Never judges the coverage.
//! Pitfall: counting a use apart from the call; a crash in between would leave an uncounted call.

use rouse_core::approval::{Grant, NewGrant};
use rouse_core::event::EventKind;
use rouse_core::{GrantId, JobId, UnixMs};
use serde_json::json;

use super::event_data::grant_event;
use crate::sql::{Durability, Store, StoreError, Transaction, from_columns};

/// The columns that `Grant` reads, in order.
macro_rules! grant_columns {
    () => {
        "id, job_id, tool, covers, created_at, expires_at, uses_left, used, revoked_at"
    };
}

const INSERT: &str = concat!(
    "INSERT INTO grants (",
    grant_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, 0, NULL)"
);
pub(crate) const OF_JOB: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants WHERE job_id = $1 ORDER BY created_at, id");
const ALL: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants ORDER BY created_at DESC, id DESC");
const REVOKE: &str = "UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
const REVOKE_ALL: &str =
    "UPDATE grants SET revoked_at = $2 WHERE job_id = $1 AND revoked_at IS NULL";
const REVOKE_VALID: &str = "UPDATE grants SET revoked_at = $2
    WHERE job_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
        AND (uses_left IS NULL OR uses_left > 0)
    RETURNING id";
const SHIFT: &str = "UPDATE grants SET created_at = $1, expires_at = $1 + expires_at - created_at
    WHERE created_at > $1 RETURNING id";
/// Revokes grants that had expired by the latest instant shown since their creation. The approval event at a grant's instant
/// dates the grant among the events; without such an event the grant is older than the newest events. Earlier instants do
/// not count: a clock far ahead may have shown them.
const REVOKE_EXPIRED: &str = "WITH newest AS MATERIALIZED
        (SELECT seq, at, kind FROM events ORDER BY seq DESC LIMIT 1000)
    UPDATE grants SET revoked_at = $1
    WHERE revoked_at IS NULL AND expires_at > $1
        AND expires_at <= (SELECT max(later.at) FROM newest AS later WHERE later.seq > coalesce(
            (SELECT min(given.seq) FROM newest AS given
             WHERE given.kind = 'approval' AND given.at = grants.created_at), 0))
    RETURNING id";
const USE: &str = "UPDATE grants SET used = used + 1, uses_left = uses_left - 1
    WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
        AND (uses_left IS NULL OR uses_left > 0)";

from_columns!(Grant: id, job_id, tool, covers, created_at, expires_at, uses_left, used, revoked_at);

impl Store {
    /// The grants of a job, valid or not.
    pub async fn grants_of_job(&self, job: &JobId) -> Result<Vec<Grant>, StoreError> {
        self.fetch_all("read the grants", sqlx::query(OF_JOB).bind(job.as_str())).await
    }

    /// All grants, the newest first.
    pub async fn grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.fetch_all("read the grants", sqlx::query(ALL)).await
    }

    /// Revokes a grant; false if revoked before or missing.
    pub async fn revoke_grant(&self, id: &GrantId, now: UnixMs) -> Result<bool, StoreError> {
        let mut tx = self.begin("revoke the grant", Durability::Full, now).await?;
        if tx.execute(sqlx::query(REVOKE).bind(id.as_str()).bind(now.0)).await? == 0 {
            tx.roll_back().await?;
            return Ok(false);
        }
        tx.emit(EventKind::Approval, grant_event(id, "revoked"));
        tx.commit().await?;
        Ok(true)
    }
}

/// Inserts the grant of an approval decision.
pub(crate) async fn insert_grant(
    tx: &mut Transaction,
    grant: &NewGrant,
    job: &JobId,
    tool: &str,
) -> Result<Grant, StoreError> {
    let now = tx.now();
    let grant = Grant {
        id: GrantId::generate(now),
        job_id: job.clone(),
        tool: tool.to_owned(),
        covers: grant.covers.clone(),
        created_at: now,
        expires_at: grant.expires_at,
        uses_left: grant.uses,
        used: 0,
        revoked_at: None,
    };
    let query = sqlx::query(INSERT)
        .bind(grant.id.as_str())
        .bind(job.as_str())
        .bind(tool)
        .bind(json!(grant.covers).to_string())
        .bind(now.0)
        .bind(grant.expires_at.map(|at| at.0))
        .bind(grant.uses_left);
    tx.execute(query).await?;
    Ok(grant)
}

/// Uses a grant for a call; false if no longer valid.
pub(crate) async fn use_grant(tx: &mut Transaction, id: &GrantId) -> Result<bool, StoreError> {
    Ok(tx.execute(sqlx::query(USE).bind(id.as_str()).bind(tx.now().0)).await? > 0)
}

/// Revokes all grants of a deleted job: another job may get the id.
pub(crate) async fn revoke_grants_of_deleted_job(
    tx: &mut Transaction,
    job: &JobId,
) -> Result<(), StoreError> {
    tx.execute(sqlx::query(REVOKE_ALL).bind(job.as_str()).bind(tx.now().0)).await.map(drop)
}

/// Revokes the valid grants of a job that does something else from now on. Event `approval` for each.
pub(crate) async fn revoke_valid_grants(
    tx: &mut Transaction,
    job: &JobId,
) -> Result<(), StoreError> {
    let query = sqlx::query(REVOKE_VALID).bind(job.as_str()).bind(tx.now().0);
    for id in tx.fetch_all(query).await? {
        tx.emit(EventKind::Approval, grant_event(&id, "revoked"));
    }
    Ok(())
}

/// After a clock rollback, revokes grants that had expired by the latest instant shown since their creation, and shifts the
/// others with unchanged lifetime. Returns whether there were any.
pub(crate) async fn shift_grants(tx: &mut Transaction) -> Result<bool, StoreError> {
    let mut has_any = false;
    for (sql, action) in [(REVOKE_EXPIRED, "revoked"), (SHIFT, "nearer")] {
        let ids: Vec<GrantId> = tx.fetch_all(sqlx::query(sql).bind(tx.now().0)).await?;
        has_any |= !ids.is_empty();
        for id in ids {
            tx.emit(EventKind::Approval, grant_event(&id, action));
        }
    }
    Ok(has_any)
}
