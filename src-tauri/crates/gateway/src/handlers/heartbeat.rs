//! `wake`, `heartbeat.*`, `set-heartbeats`.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::ListError;
use rouse_core::schedule::format_duration;
use rouse_scheduler::{COALESCE, Pending};
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangedList, Empty, HeartbeatStatus, HeartbeatTrustParams, LastRequest, LastSkip,
    OverriddenKey, SetHeartbeatsParams, WakeMode, WakeParams, WakeResult,
};

/// Lines that may wait for the main session before further wakes are refused; jobs may still queue theirs.
const MOST_WAITING: u32 = 1_000;
const FULL: &str = "1,000 lines wait for the main session already. Set up a model or switch the heartbeat on, so that it sees them.";
const CHANGED_SINCE: &str =
    "HEARTBEAT.md says something else by now than what was shown. Look at it again.";
/// Most characters of one line for the main session.
const MOST_CHARACTERS: usize = 10_000;
/// Most characters of the reason for a turn.
const MOST_OF_REASON: usize = 200;
/// The longest that requests for a turn gather.
const MOST_COALESCE_MS: i64 = 60_000;

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
    let asked = asked(context, &params)?;
    if queued_events(context).await? >= MOST_WAITING {
        return Err(RpcError::new(ErrorCode::Conflict, FULL));
    }
    match is_person {
        true => context.scheduler.queue_wake(text).await?,
        false => context.scheduler.queue_wake_of_program(text).await?,
    }
    if let Some((reason, coalesce)) = &asked {
        context.scheduler.request_heartbeat(reason, *coalesce).await;
    }
    let heartbeat = context.scheduler.status().await?.heartbeat;
    let queued = queued_events(context).await?;
    let outcome = match asked {
        Some((_, coalesce)) => turn_in_words(heartbeat.pending, coalesce),
        None => beat_in_words(&heartbeat),
    };
    Ok(WakeResult { queued, outcome })
}

/// Why a turn is asked for at once, and how long others may join it; none when it is not.
fn asked(context: &Context, params: &WakeParams) -> Result<Option<(String, Duration)>, RpcError> {
    let reason = params.reason.as_deref().map(str::trim);
    if params.mode.unwrap_or(WakeMode::Now) == WakeMode::NextHeartbeat {
        let given = [("reason", reason.is_some()), ("coalesceMs", params.coalesce_ms.is_some())];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => {
                Err(RpcError::field(field, "needs the mode `now`: nothing else asks for a turn"))
            }
            None => Ok(None),
        };
    }
    if reason.is_some_and(|reason| !(1..=MOST_OF_REASON).contains(&reason.chars().count())) {
        return Err(RpcError::field("reason", "must have 1 to 200 characters"));
    }
    let reason =
        reason.map_or_else(|| "wake".to_owned(), |reason| context.gate.safety().words(reason));
    let coalesce = match params.coalesce_ms {
        None => COALESCE,
        Some(ms @ 0..=MOST_COALESCE_MS) => Duration::from_millis(ms.unsigned_abs()),
        Some(ms) => {
            let message = format!("must be between 0 and {MOST_COALESCE_MS}, found {ms}");
            return Err(RpcError::field("coalesceMs", &message));
        }
    };
    Ok(Some((reason, coalesce)))
}

/// When the turn comes that was asked for, or what it waits for.
fn turn_in_words(pending: Option<Pending>, coalesce: Duration) -> String {
    let waits = "The line waits and the main session gets its turn";
    match pending {
        Some(Pending::Firing(reason)) => format!("{reason}. {waits} as soon as jobs fire again."),
        Some(Pending::Model) => format!("No model is set up yet. {waits} as soon as there is one."),
        Some(Pending::Turn) => {
            "The main session is at its turn. It gets another one after it if the line still waits then.".to_owned()
        }
        Some(Pending::Flood) => {
            format!("There were many wakes in the last minute. {waits} within the next one.")
        }
        Some(Pending::Others) if coalesce > COALESCE => {
            let within = i64::try_from(coalesce.as_millis()).unwrap_or(MOST_COALESCE_MS);
            format!("The main session gets its turn within {}.", format_duration(within))
        }
        Some(Pending::Others | Pending::Answer) | None => "The main session gets its turn now.".to_owned(),
    }
}

/// Whether the heartbeat comes that the line waits for.
fn beat_in_words(heartbeat: &rouse_scheduler::HeartbeatStatus) -> String {
    match (heartbeat.next_at, &heartbeat.last_skip_reason) {
        (None, Some(reason)) => {
            format!("The line waits for the next heartbeat, and none is planned: {reason}.")
        }
        _ => "The line waits for the next heartbeat.".to_owned(),
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
        pending: heartbeat.pending.map(|pending| pending.to_string()),
        last_request: heartbeat
            .last_request
            .map(|asked| LastRequest { reason: asked.reason, at_ms: asked.at.0 }),
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
    let view = Arc::clone(&context.settings).patch(change, None).await?;
    let status = status(context, Empty {}).await?;
    let decides = view.overridden.into_iter().find(|one| one.key == "heartbeat.enabled");
    match decides.filter(|_| status.enabled != params.enabled) {
        Some(OverriddenKey { variable, .. }) => {
            let switch = if status.enabled { "on" } else { "off" };
            let message = format!(
                "The heartbeat stays {switch}: the environment variable {variable} of Rouse decides. What you have set is saved, and counts once that variable is gone and Rouse is started again."
            );
            Err(RpcError::new(ErrorCode::Conflict, message))
        }
        None => Ok(status),
    }
}

async fn queued_events(context: &Context) -> Result<u32, RpcError> {
    Ok(context.store.count_pending_system_events().await?)
}
