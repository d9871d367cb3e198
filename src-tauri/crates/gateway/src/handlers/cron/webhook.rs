//! `cron.webhook`: URL and secret of a job's webhook.

use rouse_core::JobId;
use rouse_core::job::{Job, ScheduleSpec};
use rouse_core::text::percent_encode;

use super::job_lookup::find_job;
use crate::context::Context;
use crate::crypto::sha256_hex;
use crate::error::{ErrorCode, RpcError};
use crate::webhook_secret::{create_secret, matches_secret};
use crate::wire::{WebhookParams, WebhookView};

/// Creates the secret on the first call and on rotation. Only that response contains the secret.
pub(crate) async fn webhook(
    context: &Context,
    params: WebhookParams,
) -> Result<WebhookView, RpcError> {
    let job = find_job(context, &params.id).await?;
    if job.schedule.spec != ScheduleSpec::Webhook {
        return Err(RpcError::new(ErrorCode::Conflict, no_webhook(&job)));
    }
    let now = context.clock.now();
    let stored = context.store.webhook_secret(&job.id).await?;
    let url = webhook_url(context.engine.port, &job.id);
    match stored.filter(|_| params.rotate != Some(true)) {
        Some(stored) => Ok(WebhookView { url, secret: None, made_at_ms: stored.made_at.0 }),
        None => {
            let secret = create_secret();
            context.store.put_webhook_secret(&job.id, &sha256_hex(&secret), now).await?;
            Ok(WebhookView { url, secret: Some(secret), made_at_ms: now.0 })
        }
    }
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
    let job = context.store.job(id).await?;
    let has_webhook = job.is_some_and(|job| job.schedule.spec == ScheduleSpec::Webhook);
    Ok(matches_secret(secret, stored.as_ref()) & has_webhook)
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
