//! `cron.webhook`: where a job's webhook is, and its secret when it is made.

use rouse_core::JobId;
use rouse_core::job::{Job, ScheduleSpec};

use super::found;
use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::webhook_secret::{hash_of, is_secret, new_secret};
use crate::wire::{WebhookParams, WebhookView};

/// The first call makes the secret, and so does each that asks for another; it is told in that answer and never again.
pub(crate) async fn webhook(
    context: &Context,
    params: WebhookParams,
) -> Result<WebhookView, RpcError> {
    let job = found(context, &params.id).await?;
    if job.schedule.spec != ScheduleSpec::Webhook {
        return Err(RpcError::new(ErrorCode::Conflict, no_webhook(&job)));
    }
    let now = context.clock.now();
    let kept = context.store.webhook_secret(&job.id).await?;
    let url = url(context.engine.port, &job.id);
    match kept.filter(|_| params.rotate != Some(true)) {
        Some(kept) => Ok(WebhookView { url, secret: None, made_at_ms: kept.made_at.0 }),
        None => {
            let secret = new_secret();
            context.store.put_webhook_secret(&job.id, &hash_of(&secret), now).await?;
            Ok(WebhookView { url, secret: Some(secret), made_at_ms: now.0 })
        }
    }
}

fn no_webhook(job: &Job) -> String {
    let is_word = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let named =
        Some(job.name.as_str()).filter(|name| name.chars().all(is_word) && !name.starts_with('-'));
    format!(
        "This job has no webhook: something else fires it. To let its webhook do that: rouse cron edit {} --webhook",
        named.unwrap_or(job.id.as_str())
    )
}

/// Whether `shown` is the secret of the webhook of a job that has one. Both are read in any case.
pub(crate) async fn knows(context: &Context, id: &JobId, shown: &str) -> Result<bool, RpcError> {
    let kept = context.store.webhook_secret(id).await?;
    let job = context.store.job(id).await?;
    let has_webhook = job.is_some_and(|job| job.schedule.spec == ScheduleSpec::Webhook);
    Ok(is_secret(shown, kept.as_ref()) & has_webhook)
}

/// Ids of imported jobs may hold anything.
fn url(port: u16, id: &JobId) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let id: String = id
        .as_str()
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    format!("http://127.0.0.1:{port}/hooks/jobs/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_any_id() {
        assert_eq!(url(7717, &JobId::new("a-1")), "http://127.0.0.1:7717/hooks/jobs/a-1");
        assert_eq!(url(1, &JobId::new("ä /?")), "http://127.0.0.1:1/hooks/jobs/%C3%A4%20%2F%3F");
    }
}
