//! Notifications of a run through the `notify` tool.
//!
//! Owns the bound: a run sends at most [`MAX_NOTIFICATIONS`], and one digest for the rest.

use rouse_core::channel::{MessageKind, Route};
use rouse_core::decide::notification_title;
use rouse_core::delivery::NewDelivery;
use rouse_core::text::strip_markdown;
use rouse_core::{DeliveryId, Job};
use rouse_store::StoreError;

use super::scope::RunScope;

const MAX_NOTIFICATIONS: usize = 3;

const DIGEST: &str = "This run has more notifications. Open the run to read the rest.";

/// Puts a notification into the outbox once. Its key is made of the run and the journal step.
pub(super) async fn send(
    scope: &RunScope<'_>,
    job: Option<&Job>,
    step: u32,
    title: Option<&str>,
    body: &str,
) -> Result<(), StoreError> {
    let run = scope.run_id();
    let prefix = format!("{run}-");
    let (own_key, digest_key) = (format!("{prefix}{step}"), format!("{prefix}more"));
    let sent = scope.store().deliveries_of(run).await?;
    let is_sent = |key: &str| sent.iter().any(|delivery| delivery.id.as_str() == key);
    // Deliveries of the run's approval requests have keys of another form.
    let sent_by_tool = sent.iter().filter(|delivery| is_first_row(&delivery.id, &prefix)).count();
    let is_over_limit = sent_by_tool >= MAX_NOTIFICATIONS;
    if is_sent(&own_key) || (is_over_limit && is_sent(&digest_key)) {
        return Ok(());
    }
    let (key, title, body) = if is_over_limit {
        (digest_key, None, DIGEST.to_owned())
    } else {
        (own_key, title.map(strip_markdown), strip_markdown(body))
    };
    let kind = MessageKind::Report;
    let message = NewDelivery {
        id: DeliveryId::new(key),
        kind,
        approval: None,
        route: Route::notification(),
        title: notification_title(&scope.tool_context.job_name, title.as_deref()),
        body,
        text: None,
        quiet_hours: job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    };
    let routes = scope.runtime.channels.now().routes(kind, job);
    let rows = message.on_routes(routes);
    scope.store().enqueue_deliveries(Some(run), &rows, scope.now()).await
}

/// Whether this is the row of a message's first route, with this prefix.
fn is_first_row(id: &DeliveryId, prefix: &str) -> bool {
    id.as_str() == id.message() && id.message().starts_with(prefix)
}
