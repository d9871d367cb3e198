//! `cron.webhook`: URL, secret and signing key of a job's webhook.
//!
//! A call proves itself by the secret or by a signature. Pitfall: an answer that differs for unknown jobs.

use std::collections::BTreeSet;

use rouse_core::JobId;
use rouse_core::job::{Job, ScheduleSpec};
use rouse_core::text::percent_encode;
use rouse_core::text::sha256_hex;
use rouse_store::JobQuery;

use super::job_lookup::find_job;
use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::signed_webhook::{
    SignatureError, SignedMessage, create_signing_key, is_signing_key_name, signing_key_name,
};
use crate::webhook_secret::{create_secret, matches_secret};
use crate::wire::{SecretView, WebhookParams, WebhookView};

/// Creates the secret or signing key on the first call and on rotation. Only that response contains it.
pub(crate) async fn webhook(
    context: &Context,
    params: WebhookParams,
) -> Result<WebhookView, RpcError> {
    let job = find_job(context, &params.id).await?;
    if job.schedule.spec != ScheduleSpec::Webhook {
        return Err(RpcError::new(ErrorCode::Conflict, no_webhook(&job)));
    }
    let is_rotation = params.rotate == Some(true);
    if params.sign == Some(true) {
        show_signing_key(context, &job.id, is_rotation).await
    } else {
        show_secret(context, &job.id, is_rotation).await
    }
}

async fn show_secret(
    context: &Context,
    id: &JobId,
    is_rotation: bool,
) -> Result<WebhookView, RpcError> {
    let now = context.clock.now();
    let stored = context.store.webhook_secret(id).await?.filter(|_| !is_rotation);
    let (secret, made_at) = match stored {
        Some(stored) => (None, stored.made_at),
        None => {
            let secret = create_secret();
            context.store.put_webhook_secret(id, &sha256_hex(&secret), now).await?;
            (Some(secret), now)
        }
    };
    Ok(WebhookView {
        url: webhook_url(context.engine.port, id),
        secret,
        made_at_ms: made_at.0,
        signing_secret: None,
        problem: None,
    })
}

async fn show_signing_key(
    context: &Context,
    id: &JobId,
    is_rotation: bool,
) -> Result<WebhookView, RpcError> {
    let name = signing_key_name(id);
    let stored = context.secrets.list().await?.secrets;
    let present = stored.iter().find(|secret| secret.name == name).filter(|_| !is_rotation);
    let (key, view) = if let Some(present) = present {
        (None, present.clone())
    } else {
        remove_keys_of_missing_jobs(context, &stored).await?;
        let key = create_signing_key();
        let view = context.secrets.set_signing_key(&name, key.clone()).await?;
        (Some(key), view)
    };
    Ok(WebhookView {
        url: webhook_url(context.engine.port, id),
        secret: key,
        made_at_ms: view.set_at_ms,
        signing_secret: Some(name),
        problem: view.problem,
    })
}

/// Removes signing keys of deleted jobs. Until the next new key, an undo of the deletion restores the webhook.
async fn remove_keys_of_missing_jobs(
    context: &Context,
    secrets: &[SecretView],
) -> Result<(), RpcError> {
    let query = JobQuery { include_disabled: true, ..JobQuery::default() };
    let page = context.store.jobs(&query).await?;
    let unreadable = page.unreadable.iter().map(|job| &job.id);
    let ids = page.jobs.iter().map(|job| &job.id).chain(unreadable);
    let used: BTreeSet<String> = ids.map(signing_key_name).collect();
    let is_key = |secret: &&SecretView| {
        let is_bound = !secret.hosts.is_empty() || !secret.servers.is_empty();
        is_signing_key_name(&secret.name) && !is_bound && !used.contains(&secret.name)
    };
    for secret in secrets.iter().filter(is_key) {
        // A locked keyring keeps the key, and the list keeps its name.
        if let Err(error) = context.secrets.remove(&secret.name).await {
            tracing::warn!(name = secret.name, %error, "the key of a deleted job remains");
        }
    }
    Ok(())
}

fn no_webhook(job: &Job) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let name =
        Some(job.name.as_str()).filter(|name| name.chars().all(is_plain) && !name.starts_with('-'));
    format!(
        "This job has no webhook. To give it a webhook trigger: rouse cron edit {} --webhook",
        name.unwrap_or(job.id.as_str())
    )
}

/// Whether `secret` is the webhook secret of a job with a webhook trigger. Always reads secret and job, for constant time.
pub(crate) async fn verify_webhook_secret(
    context: &Context,
    id: &JobId,
    secret: &str,
) -> Result<bool, RpcError> {
    let stored = context.store.webhook_secret(id).await?;
    let has_webhook = has_webhook(context, id).await?;
    Ok(matches_secret(secret, stored.as_ref()) & has_webhook)
}

/// Checks a signed call of a job with a webhook trigger. Always reads key and job, for constant time.
pub(crate) async fn check_webhook_signature(
    context: &Context,
    id: &JobId,
    message: SignedMessage,
) -> Result<Result<(), SignatureError>, RpcError> {
    let checked = context.secrets.check_signature(&signing_key_name(id), message).await;
    let has_webhook = has_webhook(context, id).await?;
    Ok(match checked {
        Err(SignatureError::Header(_)) => checked,
        _ if !has_webhook => Err(SignatureError::Mismatch),
        _ => checked,
    })
}

async fn has_webhook(context: &Context, id: &JobId) -> Result<bool, RpcError> {
    let job = context.store.job(id).await?;
    Ok(job.is_some_and(|job| job.schedule.spec == ScheduleSpec::Webhook))
}

/// The URL of the webhook, percent-encoded: ids of imported jobs may contain any character.
fn webhook_url(port: u16, id: &JobId) -> String {
    format!("http://127.0.0.1:{port}/hooks/jobs/{}", percent_encode(id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_url_encodes_any_id() {
        assert_eq!(webhook_url(7717, &JobId::new("a-1")), "http://127.0.0.1:7717/hooks/jobs/a-1");
        assert_eq!(
            webhook_url(1, &JobId::new("ä /?")),
            "http://127.0.0.1:1/hooks/jobs/%C3%A4%20%2F%3F"
        );
    }
}
