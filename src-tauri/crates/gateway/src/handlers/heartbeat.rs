//! `wake`, `heartbeat.*`, `set-heartbeats`.

use std::sync::Arc;

use rouse_agent::ListError;
use rouse_scheduler::COALESCE;
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangedList, Empty, HeartbeatStatus, HeartbeatTrustParams, LastSkip, SetHeartbeatsParams,
    WakeMode, WakeParams, WakeResult,
};

/// Lines that may wait for the main session before further wakes are refused; jobs may still queue theirs.
const MOST_WAITING: u32 = 1_000;
const FULL: &str = "1,000 lines wait for the main session already. Set up a model or switch the heartbeat on, so that it sees them.";
const CHANGED_SINCE: &str =
    "HEARTBEAT.md says something else by now than what was shown. Look at it again.";
/// Most characters of one line for the main session.
const MOST_CHARACTERS: usize = 10_000;

pub(crate) async fn wake(context: &Context, params: WakeParams) -> Result<WakeResult, RpcError> {
    wake_by(context, params, true).await
}

/// The same for a program, whose words are not the person's.
pub(crate) async fn wake_by_program(
    context: &Context,
    params: WakeParams,
) -> Result<WakeResult, RpcError> {
    wake_by(context, params, false).await
}

async fn wake_by(
    context: &Context,
    params: WakeParams,
    is_person: bool,
) -> Result<WakeResult, RpcError> {
    let text = params.text.trim();
    if text.is_empty() {
        return Err(RpcError::field("text", "must not be empty"));
    }
    if text.chars().count() > MOST_CHARACTERS {
        return Err(RpcError::field("text", "must be at most 10,000 characters"));
    }
    let text = &context.gate.safety().words(text);
    if queued_events(context).await? >= MOST_WAITING {
        return Err(RpcError::new(ErrorCode::Conflict, FULL));
    }
    match is_person {
        true => context.scheduler.queue_wake(text).await?,
        false => context.scheduler.queue_wake_of_program(text).await?,
    }
    let now = params.mode.unwrap_or(WakeMode::Now) == WakeMode::Now;
    if now {
        context.scheduler.request_heartbeat("wake", COALESCE).await;
    }
    let status = context.scheduler.status().await?;
    let may_fire = status.firing && status.pause.is_none();
    let queued = queued_events(context).await?;
    Ok(WakeResult { queued, outcome: outcome_in_words(context, now, may_fire).to_owned() })
}

fn outcome_in_words(context: &Context, now: bool, may_fire: bool) -> &'static str {
    match (now, may_fire, context.models.active_label().is_some()) {
        (true, false, _) => {
            "Everything is paused. The line waits and the main session gets its turn as soon as jobs fire again."
        }
        (true, true, true) => "The main session gets its turn now.",
        (true, true, false) => {
            "No model is set up yet. The line waits and the main session gets its turn as soon as there is one."
        }
        (false, ..) => "The line waits for the next heartbeat.",
    }
}

pub(crate) async fn status(context: &Context, _: Empty) -> Result<HeartbeatStatus, RpcError> {
    let heartbeat = context.scheduler.status().await?.heartbeat;
    Ok(HeartbeatStatus {
        enabled: heartbeat.enabled,
        every_ms: heartbeat.every_ms,
        active_hours: heartbeat.active_hours,
        next_at_ms: heartbeat.next_at.map(|at| at.0),
        last_skip_reason: heartbeat.last_skip_reason,
        last_skip: heartbeat
            .last_skip
            .map(|skip| LastSkip { reason: skip.reason, at_ms: skip.at.0 }),
        queued_events: queued_events(context).await?,
        pending: heartbeat.pending,
        changed_list: changed_list(context).await,
    })
}

/// None as well while the file cannot be read: the beat says that.
async fn changed_list(context: &Context) -> Option<ChangedList> {
    let seen = context.gate.list().look(&context.engine.workspace).await.ok()?;
    let doubt = seen.doubt?;
    Some(ChangedList {
        why: doubt.in_words(),
        run_id: doubt.run_id().map(str::to_owned),
        text: seen.text.unwrap_or_default(),
        digest: seen.digest,
    })
}

pub(crate) async fn trust(
    context: &Context,
    params: HeartbeatTrustParams,
) -> Result<HeartbeatStatus, RpcError> {
    let trusted = context.gate.list().trust(&context.engine.workspace, &params.digest).await;
    match trusted {
        Ok(true) => status(context, Empty {}).await,
        Ok(false) => Err(RpcError::new(ErrorCode::Conflict, CHANGED_SINCE)),
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
    Arc::clone(&context.settings).patch(change, None).await?;
    status(context, Empty {}).await
}

async fn queued_events(context: &Context) -> Result<u32, RpcError> {
    Ok(context.store.count_pending_system_events().await?)
}
