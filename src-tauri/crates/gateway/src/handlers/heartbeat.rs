//! `wake`, `heartbeat.*` and `set-heartbeats`: system events and the heartbeat of the main session.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::ListError;
use rouse_core::schedule::format_duration;
use rouse_scheduler::{COALESCE, PendingReason};
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    EmptyObject, HeartbeatRequestView, HeartbeatSkipView, HeartbeatStatus, HeartbeatTrustParams,
    OverriddenKey, SetHeartbeatsParams, UntrustedList, WakeMode, WakeParams, WakeResult,
};

/// Maximum number of queued system events for wakes; jobs may queue more.
const MAX_QUEUED: u32 = 1_000;
const QUEUE_FULL: &str = "1,000 system events are queued. Set up a model or enable the heartbeat, so that the main session reads them.";
const STALE_LIST: &str = "HEARTBEAT.md has changed since it was shown. Review it again.";
/// Maximum length of a system event.
const MAX_TEXT_CHARS: usize = 10_000;
/// Maximum length of a reason.
const MAX_REASON_CHARS: usize = 200;
/// Maximum coalescing window.
const MAX_COALESCE_MS: i64 = 60_000;

pub(crate) async fn wake(context: &Context, params: WakeParams) -> Result<WakeResult, RpcError> {
    queue_wake(context, params, true).await
}

/// `wake` with untrusted text.
pub(crate) async fn wake_untrusted(
    context: &Context,
    params: WakeParams,
) -> Result<WakeResult, RpcError> {
    queue_wake(context, params, false).await
}

async fn queue_wake(
    context: &Context,
    params: WakeParams,
    is_trusted: bool,
) -> Result<WakeResult, RpcError> {
    let text = params.text.trim();
    if text.is_empty() {
        return Err(RpcError::field("text", "must not be empty"));
    }
    if text.chars().count() > MAX_TEXT_CHARS {
        return Err(RpcError::field("text", "must be at most 10,000 characters"));
    }
    let text = &context.gate.safety().redact_stored(text);
    let turn_request = parse_turn_request(context, &params)?;
    if queued_events(context).await? >= MAX_QUEUED {
        return Err(RpcError::new(ErrorCode::Conflict, QUEUE_FULL));
    }
    if is_trusted {
        context.scheduler.queue_wake(text).await?
    } else {
        context.scheduler.queue_untrusted_wake(text).await?
    }
    if let Some((reason, coalesce)) = &turn_request {
        context.scheduler.request_heartbeat(reason, *coalesce).await;
    }
    let heartbeat = context.scheduler.status().await?.heartbeat;
    let queued = queued_events(context).await?;
    let outcome = match turn_request {
        Some((_, coalesce)) => describe_turn(heartbeat.pending, coalesce),
        None => describe_next_heartbeat(&heartbeat),
    };
    Ok(WakeResult { queued, outcome })
}

/// The reason and the coalescing window of a turn request; none with mode `next-heartbeat`.
fn parse_turn_request(
    context: &Context,
    params: &WakeParams,
) -> Result<Option<(String, Duration)>, RpcError> {
    let reason = params.reason.as_deref().map(str::trim);
    if params.mode.unwrap_or(WakeMode::Now) == WakeMode::NextHeartbeat {
        let given = [("reason", reason.is_some()), ("coalesceMs", params.coalesce_ms.is_some())];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => Err(RpcError::field(field, "needs the mode `now`")),
            None => Ok(None),
        };
    }
    if reason.is_some_and(|reason| !(1..=MAX_REASON_CHARS).contains(&reason.chars().count())) {
        return Err(RpcError::field("reason", "must have 1 to 200 characters"));
    }
    let reason = reason
        .map_or_else(|| "wake".to_owned(), |reason| context.gate.safety().redact_stored(reason));
    let coalesce = match params.coalesce_ms {
        None => COALESCE,
        Some(ms @ 0..=MAX_COALESCE_MS) => Duration::from_millis(ms.unsigned_abs()),
        Some(ms) => {
            let message = format!("must be between 0 and {MAX_COALESCE_MS}, found {ms}");
            return Err(RpcError::field("coalesceMs", &message));
        }
    };
    Ok(Some((reason, coalesce)))
}

/// When the requested turn starts, or what the turn waits for.
fn describe_turn(pending: Option<PendingReason>, coalesce: Duration) -> String {
    match pending {
        Some(PendingReason::Firing(reason)) => {
            format!("{reason}. The main session runs as soon as jobs fire again.")
        }
        Some(PendingReason::Model) => {
            "No model is set up yet. The main session runs as soon as a model is set up.".to_owned()
        }
        Some(PendingReason::Turn) => {
            "The main session is running. Another turn follows if the event is still queued."
                .to_owned()
        }
        Some(PendingReason::Burst) => {
            "Too many wakes in the last minute. The main session runs within the next minute."
                .to_owned()
        }
        Some(PendingReason::Coalesce) if coalesce > COALESCE => {
            let within = i64::try_from(coalesce.as_millis()).unwrap_or(MAX_COALESCE_MS);
            format!("The main session runs within {}.", format_duration(within))
        }
        Some(PendingReason::Coalesce | PendingReason::Backoff) | None => {
            "The main session runs now.".to_owned()
        }
    }
}

fn describe_next_heartbeat(heartbeat: &rouse_scheduler::HeartbeatSnapshot) -> String {
    match (heartbeat.next_at, &heartbeat.last_skip_reason) {
        (None, Some(reason)) => format!("Queued, but no heartbeat is scheduled: {reason}."),
        _ => "Queued for the next heartbeat.".to_owned(),
    }
}

pub(crate) async fn status(context: &Context, _: EmptyObject) -> Result<HeartbeatStatus, RpcError> {
    let heartbeat = context.scheduler.status().await?.heartbeat;
    Ok(HeartbeatStatus {
        enabled: heartbeat.enabled,
        every_ms: heartbeat.every_ms,
        active_hours: heartbeat.active_hours,
        next_at_ms: heartbeat.next_at.map(|at| at.0),
        last_skip_reason: heartbeat.last_skip_reason,
        last_skip: heartbeat
            .last_skip
            .map(|skip| HeartbeatSkipView { reason: skip.reason, at_ms: skip.at.0 }),
        queued_events: queued_events(context).await?,
        pending: heartbeat.pending.map(|pending| pending.to_string()),
        last_request: heartbeat
            .last_request
            .map(|request| HeartbeatRequestView { reason: request.reason, at_ms: request.at.0 }),
        untrusted_list: untrusted_list(context).await,
    })
}

/// HEARTBEAT.md if untrusted; none for an unreadable file, which the heartbeat reports.
async fn untrusted_list(context: &Context) -> Option<UntrustedList> {
    // silent-ok: the heartbeat reports an unreadable file.
    let list = context.gate.list().read(&context.engine.workspace).await.ok()?;
    let taint = list.taint?;
    Some(UntrustedList {
        changed_by: taint.in_words(),
        run_id: taint.run_id().map(str::to_owned),
        text: list.text.unwrap_or_default(),
        digest: list.digest,
    })
}

pub(crate) async fn trust(
    context: &Context,
    params: HeartbeatTrustParams,
) -> Result<HeartbeatStatus, RpcError> {
    let trusted = context.gate.list().trust(&context.engine.workspace, &params.digest).await;
    match trusted {
        Ok(true) => status(context, EmptyObject {}).await,
        Ok(false) => Err(RpcError::new(ErrorCode::Conflict, STALE_LIST)),
        Err(ListError::File(error)) => {
            let message = format!("HEARTBEAT.md could not be read: {error}.");
            Err(RpcError::new(ErrorCode::Conflict, message))
        }
        Err(ListError::Store(error)) => Err(error.into()),
    }
}

pub(crate) async fn set(
    context: &Context,
    params: SetHeartbeatsParams,
) -> Result<HeartbeatStatus, RpcError> {
    let change = json!({ "heartbeat": { "enabled": params.enabled } });
    let view = Arc::clone(&context.settings).patch(change, None).await?;
    let status = status(context, EmptyObject {}).await?;
    let overridden = view.overridden.into_iter().find(|key| key.key == "heartbeat.enabled");
    match overridden.filter(|_| status.enabled != params.enabled) {
        Some(OverriddenKey { variable, .. }) => {
            let state = if status.enabled { "on" } else { "off" };
            let message = format!(
                "The heartbeat stays {state}: the environment variable {variable} overrides the setting. Your change is saved and applies after a restart without the variable."
            );
            Err(RpcError::new(ErrorCode::Conflict, message))
        }
        None => Ok(status),
    }
}

async fn queued_events(context: &Context) -> Result<u32, RpcError> {
    Ok(context.store.count_pending_system_events().await?)
}
