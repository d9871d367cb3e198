//! The tables `webhooks` and `webhook_calls`: secrets of webhooks, and calls with an idempotency key.
//!
//! Stores only the hash of a secret. A secret survives the deletion of the job, so that an undo restores the webhook; the
//! next new secret deletes the secrets of missing jobs.

use rouse_core::text::sha256_hex;
use rouse_core::{JobId, RunId, UnixMs};

use crate::sql::{Durability, Store, StoreError, Transaction, from_columns, json_text};

/// A call with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    /// The job.
    pub job_id: JobId,
    /// The idempotency key.
    pub key: String,
    /// The body, of which only the hash is stored.
    pub body: String,
    /// The run that the call fired.
    pub run_id: RunId,
    /// Why that run was skipped.
    pub reason: Option<String>,
}

/// An earlier call with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorWebhookCall {
    /// The run that the call fired, which may be pruned.
    pub run_id: RunId,
    /// Whether both calls have the same body.
    pub has_same_body: bool,
    /// Why that run was skipped.
    pub reason: Option<String>,
}

/// The stored secret of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSecret {
    /// The hash.
    pub hash: String,
    /// When the secret was made.
    pub made_at: UnixMs,
}

/// How long a call is known by its key.
const KEY_LIFETIME_MS: i64 = 24 * 3_600_000;

pub(crate) const SECRET: &str = "SELECT secret_hash, made_at FROM webhooks WHERE job_id = $1";
const PUT_SECRET: &str = "INSERT INTO webhooks (job_id, secret_hash, made_at) VALUES ($1, $2, $3)
    ON CONFLICT (job_id) DO UPDATE SET secret_hash = $2, made_at = $3";
const DELETE_ORPHANS: &str = "DELETE FROM webhooks WHERE job_id NOT IN (SELECT id FROM jobs)";
const HAS_ANY: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM jobs WHERE ",
    json_text!("definition", "schedule.kind"),
    " = 'webhook')"
);
pub(crate) const CALL: &str = "SELECT run_id, body_hash, reason FROM webhook_calls WHERE job_id = $1 AND key = $2 AND at > $3";
const PUT_CALL: &str = "INSERT INTO webhook_calls (job_id, key, run_id, at, body_hash, reason) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (job_id, key) DO UPDATE SET run_id = $3, at = $4, body_hash = $5, reason = $6";
pub(crate) const DELETE_EXPIRED_CALLS: &str = "DELETE FROM webhook_calls WHERE at <= $1";

from_columns!(WebhookSecret: hash, made_at);

impl Store {
    /// The secret of a job's webhook.
    pub async fn webhook_secret(&self, job: &JobId) -> Result<Option<WebhookSecret>, StoreError> {
        self.fetch_optional("read the webhook", sqlx::query(SECRET).bind(job.as_str())).await
    }

    /// Whether any job has a webhook trigger, called with a secret or a signature.
    pub async fn has_webhooks(&self) -> Result<bool, StoreError> {
        self.fetch_or_default("look for webhooks", sqlx::query(HAS_ANY)).await
    }

    /// Replaces the secret of a job's webhook.
    pub async fn put_webhook_secret(
        &self,
        job: &JobId,
        hash: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("save the webhook", Durability::Full, now).await?;
        tx.execute(sqlx::query(DELETE_ORPHANS)).await?;
        tx.execute(sqlx::query(PUT_SECRET).bind(job.as_str()).bind(hash).bind(now.0)).await?;
        tx.commit().await
    }

    /// The call with this key within the last day, compared with a new call with `body`.
    pub async fn webhook_call(
        &self,
        job: &JobId,
        key: &str,
        body: &str,
        now: UnixMs,
    ) -> Result<Option<PriorWebhookCall>, StoreError> {
        let oldest = now.plus_ms(-KEY_LIFETIME_MS).0;
        let query = sqlx::query(CALL).bind(job.as_str()).bind(key).bind(oldest);
        let call =
            self.fetch_optional::<(RunId, Option<String>, Option<String>)>("read the calls", query);
        Ok(call.await?.map(|(run_id, stored_hash, reason)| {
            let has_same_body = stored_hash.is_none_or(|hash| hash == sha256_hex(body));
            PriorWebhookCall { run_id, has_same_body, reason }
        }))
    }
}

/// Stores a call and deletes expired calls.
pub(crate) async fn put_webhook_call(
    tx: &mut Transaction,
    call: &WebhookCall,
) -> Result<(), StoreError> {
    let now = tx.now();
    let expired = now.plus_ms(-KEY_LIFETIME_MS).0;
    tx.execute(sqlx::query(DELETE_EXPIRED_CALLS).bind(expired)).await?;
    let query = sqlx::query(PUT_CALL)
        .bind(call.job_id.as_str())
        .bind(call.key.as_str())
        .bind(call.run_id.as_str())
        .bind(now.0)
        .bind(sha256_hex(&call.body))
        .bind(call.reason.as_deref());
    tx.execute(query).await.map(drop)
}
