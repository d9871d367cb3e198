//! The table `grants`: what a person has allowed a job for good.
//!
//! Owns how a grant is made, used up by a call in the transaction that journals it, and taken back. It refuses to judge
//! what a grant covers. One could get it wrong by counting a use apart from its call: a crash in between would leave a
//! call that nobody counted.

use rouse_core::approval::{Grant, NewGrant};
use rouse_core::event::EventKind;
use rouse_core::{GrantId, JobId, UnixMs};
use serde_json::json;
use sqlx::sqlite::SqliteRow;

use crate::approvals::decoded;
use crate::row::Columns;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// The columns of a grant, as `read` takes them.
macro_rules! grant_columns {
    () => {
        "id, job_id, tool, covers, created_at, expires_at, uses_left, used, revoked_at"
    };
}

const INSERT: &str = concat!(
    "INSERT INTO grants (",
    grant_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, NULL)"
);
pub(crate) const OF_JOB: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants WHERE job_id = ?1 ORDER BY created_at, id");
const ALL: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants ORDER BY created_at DESC, id DESC");
const REVOKE: &str = "UPDATE grants SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
const REVOKE_ALL: &str =
    "UPDATE grants SET revoked_at = ?2 WHERE job_id = ?1 AND revoked_at IS NULL";
const REVOKE_GOOD: &str = "UPDATE grants SET revoked_at = ?2
    WHERE job_id = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)
        AND (uses_left IS NULL OR uses_left > 0)
    RETURNING id";
const NEARER: &str = "UPDATE grants SET created_at = ?1, expires_at = ?1 + expires_at - created_at
    WHERE created_at > ?1 RETURNING id";
/// What was shown before a grant was given, by a clock that was far ahead, says nothing about it. Whatever gives one, or
/// takes it nearer, tells of it at its instant; one of which none of the newest events tells is older than they are.
const OVER: &str = "WITH newest AS MATERIALIZED
        (SELECT seq, at, kind FROM events ORDER BY seq DESC LIMIT 1000)
    UPDATE grants SET revoked_at = ?1
    WHERE revoked_at IS NULL AND expires_at > ?1
        AND expires_at <= (SELECT max(later.at) FROM newest AS later WHERE later.seq > coalesce(
            (SELECT min(given.seq) FROM newest AS given
             WHERE given.kind = 'approval' AND given.at = grants.created_at), 0))
    RETURNING id";
const USE: &str = "UPDATE grants SET used = used + 1, uses_left = uses_left - 1
    WHERE id = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)
        AND (uses_left IS NULL OR uses_left > 0)";

impl Store {
    /// The grants of a job, also those that count no more.
    ///
    /// # Errors
    /// `Read`.
    pub async fn grants_of(&self, job: &JobId) -> Result<Vec<Grant>, StoreError> {
        self.list("read the grants", sqlx::query(OF_JOB).bind(job.as_str()), read).await
    }

    /// All grants, the newest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.list("read the grants", sqlx::query(ALL), read).await
    }

    /// Takes a grant back; false when it was taken back before, or never given.
    ///
    /// # Errors
    /// `Write`.
    pub async fn revoke_grant(&self, id: &GrantId, now: UnixMs) -> Result<bool, StoreError> {
        let mut write = self.write("take the grant back", Durability::Full, now).await?;
        let query = sqlx::query(REVOKE).bind(id.as_str()).bind(now.0);
        if write.run(query).await?.rows_affected() == 0 {
            write.undo().await?;
            return Ok(false);
        }
        write.event(EventKind::Approval, json!({ "grantId": id.as_str(), "action": "revoked" }));
        write.commit().await?;
        Ok(true)
    }
}

/// Inserts what an answer granted, as part of its write.
pub(crate) async fn insert(
    write: &mut Write,
    grant: &NewGrant,
    job: &JobId,
    tool: &str,
) -> Result<Grant, StoreError> {
    let now = write.now();
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
    write.run(query).await?;
    Ok(grant)
}

/// Uses a grant up, as part of the write that journals the call; false when it allows nothing any more.
pub(crate) async fn use_up(write: &mut Write, id: &GrantId) -> Result<bool, StoreError> {
    let query = sqlx::query(USE).bind(id.as_str()).bind(write.now().0);
    Ok(write.run(query).await?.rows_affected() > 0)
}

/// Takes back what a job was granted, as part of the write that deletes it: another job may have its id some day.
pub(crate) async fn revoke_all(write: &mut Write, job: &JobId) -> Result<(), StoreError> {
    let query = sqlx::query(REVOKE_ALL).bind(job.as_str()).bind(write.now().0);
    write.run(query).await?;
    Ok(())
}

/// Takes back what a job was granted and what still counts, as part of the write that gives the job other work; whoever
/// shows grants is told of each.
pub(crate) async fn revoke_good(write: &mut Write, job: &JobId) -> Result<(), StoreError> {
    let query = sqlx::query(REVOKE_GOOD).bind(job.as_str()).bind(write.now().0);
    let ids = write.list(query, |row| Columns::of(row).id(GrantId::new)).await?;
    for id in ids {
        write.event(EventKind::Approval, json!({ "grantId": id.as_str(), "action": "revoked" }));
    }
    Ok(())
}

/// As part of the write that takes nearer what a clock has left: what had ended by the latest instant that a clock has
/// shown since it was given has ended for good, and the others last as long as they were given for. Answers whether there
/// was any.
pub(crate) async fn take_grants_nearer(write: &mut Write) -> Result<bool, StoreError> {
    let mut is_any = false;
    for (query, action) in [(OVER, "revoked"), (NEARER, "nearer")] {
        let query = sqlx::query(query).bind(write.now().0);
        let ids = write.list(query, |row| Columns::of(row).id(GrantId::new)).await?;
        is_any |= !ids.is_empty();
        for id in ids {
            write.event(EventKind::Approval, json!({ "grantId": id.as_str(), "action": action }));
        }
    }
    Ok(is_any)
}

fn read(row: &SqliteRow) -> sqlx::Result<Grant> {
    let mut columns = Columns::of(row);
    Ok(Grant {
        id: columns.id(GrantId::new)?,
        job_id: columns.id(JobId::new)?,
        tool: columns.get()?,
        covers: decoded(columns.json()?)?,
        created_at: columns.instant()?,
        expires_at: columns.some_instant()?,
        uses_left: columns.get::<Option<u32>>()?,
        used: columns.count()?,
        revoked_at: columns.some_instant()?,
    })
}
