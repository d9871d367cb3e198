//! The tables `webhooks` and `webhook_calls`: who may fire a job from outside, and which calls came twice.
//!
//! Only the hash of a secret is here. It outlives the deletion of its job, so that undoing that brings the webhook back,
//! until the next secret is made, which clears away those of jobs that are gone.

use rouse_core::cause::fingerprint;
use rouse_core::{JobId, RunId, UnixMs};

use crate::row::Columns;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// A call that named a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    /// The job.
    pub job_id: JobId,
    /// The key.
    pub key: String,
    /// What it said. Only its hash is kept.
    pub body: String,
    /// The run that it made.
    pub run_id: RunId,
    /// Why that run does nothing, where it does nothing.
    pub reason: Option<String>,
}

/// A call whose key came before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCall {
    /// The run that was made then; it may be kept no longer.
    pub run_id: RunId,
    /// Whether what is said is what was said then.
    pub is_same: bool,
    /// Why that run does nothing, where it does nothing.
    pub reason: Option<String>,
}

/// The secret of a webhook as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSecret {
    /// Its hash.
    pub hash: String,
    /// When it was made.
    pub made_at: UnixMs,
}

/// How long a call is known by its key.
const KNOWN_FOR_MS: i64 = 24 * 3_600_000;

pub(crate) const SECRET: &str = "SELECT secret_hash, made_at FROM webhooks WHERE job_id = ?1";
const PUT_SECRET: &str = "INSERT INTO webhooks (job_id, secret_hash, made_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (job_id) DO UPDATE SET secret_hash = ?2, made_at = ?3";
const CLEAR: &str = "DELETE FROM webhooks WHERE job_id NOT IN (SELECT id FROM jobs)";
pub(crate) const ANY: &str =
    "SELECT EXISTS (SELECT 1 FROM webhooks WHERE job_id IN (SELECT id FROM jobs))";
pub(crate) const CALL: &str = "SELECT run_id, body_hash, reason FROM webhook_calls WHERE job_id = ?1 AND key = ?2 AND at > ?3";
const REMEMBER: &str = "INSERT INTO webhook_calls (job_id, key, run_id, at, body_hash, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (job_id, key) DO UPDATE SET run_id = ?3, at = ?4, body_hash = ?5, reason = ?6";
pub(crate) const FORGET: &str = "DELETE FROM webhook_calls WHERE at <= ?1";

impl Store {
    /// The secret of a job's webhook; none when none was made.
    ///
    /// # Errors
    /// `Read`.
    pub async fn webhook_secret(&self, job: &JobId) -> Result<Option<WebhookSecret>, StoreError> {
        let query = sqlx::query(SECRET).bind(job.as_str());
        self.one("read the webhook", query, |row| {
            let mut columns = Columns::of(row);
            Ok(WebhookSecret { hash: columns.get()?, made_at: columns.instant()? })
        })
        .await
    }

    /// Whether there is a job with a webhook that others can call.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_webhooks(&self) -> Result<bool, StoreError> {
        let any = self.one("look for webhooks", sqlx::query(ANY), |row| Columns::of(row).get());
        Ok(any.await?.unwrap_or_default())
    }

    /// Gives a job's webhook a new secret; the one before is worth nothing any more.
    ///
    /// # Errors
    /// `Write`.
    pub async fn put_webhook_secret(
        &self,
        job: &JobId,
        hash: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("save the webhook", Durability::Full, now).await?;
        write.run(sqlx::query(CLEAR)).await?;
        let query = sqlx::query(PUT_SECRET).bind(job.as_str()).bind(hash.to_owned()).bind(now.0);
        write.run(query).await?;
        write.commit().await
    }

    /// What a call with this key did within a day, beside one that says `body` now; none when there was none.
    ///
    /// # Errors
    /// `Read`.
    pub async fn webhook_call(
        &self,
        job: &JobId,
        key: &str,
        body: &str,
        now: UnixMs,
    ) -> Result<Option<KnownCall>, StoreError> {
        let oldest = now.plus_ms(-KNOWN_FOR_MS).0;
        let query = sqlx::query(CALL).bind(job.as_str()).bind(key.to_owned()).bind(oldest);
        self.one("read the calls", query, |row| {
            let mut columns = Columns::of(row);
            let run_id = columns.id(RunId::new)?;
            let is_same =
                columns.get::<Option<String>>()?.is_none_or(|hash| hash == fingerprint(body));
            Ok(KnownCall { run_id, is_same, reason: columns.get()? })
        })
        .await
    }
}

/// Remembers a call as part of a write, and forgets those of the day before.
pub(crate) async fn remember(write: &mut Write, call: &WebhookCall) -> Result<(), StoreError> {
    let now = write.now();
    write.run(sqlx::query(FORGET).bind(now.plus_ms(-KNOWN_FOR_MS).0)).await?;
    let query = sqlx::query(REMEMBER).bind(call.job_id.as_str()).bind(call.key.clone());
    let query = query.bind(call.run_id.as_str()).bind(now.0).bind(fingerprint(&call.body));
    write.run(query.bind(call.reason.clone())).await?;
    Ok(())
}
