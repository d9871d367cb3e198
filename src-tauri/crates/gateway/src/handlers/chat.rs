//! `chat.*`: what a person writes to the main session. A message is a run; its answer comes by the run's events.

use rouse_core::{Run, RunId, RunState, RunTrigger};
use rouse_store::RunQuery;
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{ChatAbortParams, ChatSendParams, ChatSendResult, Done};

/// Most characters of one message.
const MOST_CHARACTERS: usize = 50_000;
/// Messages without an answer before further ones are refused.
const MOST_OPEN: usize = 20;
const CROWDED: &str = "20 messages wait for their answers already. Wait for one, or stop them.";
const NO_MODEL: &str = "No model is set up, so nobody would answer. Start Ollama or LM Studio on this computer, or add a provider under Settings.";

pub(crate) async fn send(
    context: &Context,
    params: ChatSendParams,
) -> Result<ChatSendResult, RpcError> {
    let text = params.text.trim();
    if text.is_empty() {
        return Err(RpcError::field("text", "must not be empty"));
    }
    if text.chars().count() > MOST_CHARACTERS {
        return Err(RpcError::field("text", "must be at most 50,000 characters"));
    }
    let key = params.key.as_deref();
    if key.is_some_and(|key| !is_key(key)) {
        return Err(RpcError::field("key", "must be 8 to 64 letters, digits, _ and -"));
    }
    super::check_secrets(context, "key", &json!(key)).await?;
    let text = &context.gate.safety().words(text);
    // What was taken already is answered already, or will be.
    if is_taken(context, key).await? {
        let run_id = context.scheduler.chat(text, key).await?;
        return Ok(ChatSendResult { run_id: run_id.to_string() });
    }
    if context.models.active_label().is_none() {
        // The look at the start may still be going, or somebody has started one since.
        context.models.list(true).await;
    }
    if context.models.active_label().is_none() {
        let why = context.models.nobody().unwrap_or_else(|| NO_MODEL.to_owned());
        return Err(RpcError::new(ErrorCode::Conflict, why));
    }
    if open(context).await?.len() >= MOST_OPEN {
        return Err(RpcError::new(ErrorCode::Conflict, CROWDED));
    }
    let run_id = context.scheduler.chat(text, key).await?;
    Ok(ChatSendResult { run_id: run_id.to_string() })
}

fn is_key(key: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (8..=64).contains(&key.len()) && key.chars().all(is_sign)
}

async fn is_taken(context: &Context, key: Option<&str>) -> Result<bool, RpcError> {
    let Some(key) = key else { return Ok(false) };
    Ok(context.store.run(&RunId::new(format!("chat-{key}"))).await?.is_some())
}

pub(crate) async fn abort(context: &Context, params: ChatAbortParams) -> Result<Done, RpcError> {
    let ids = match params.run_id {
        Some(id) => vec![message(context, &id).await?],
        None => open(context).await?.into_iter().map(|run| run.id).collect(),
    };
    let mut changed = false;
    // The newest first, or the end of one would begin the next.
    for id in ids.iter().rev() {
        changed |= context.scheduler.cancel(id, "Stopped by you").await?;
    }
    Ok(Done { changed })
}

/// The messages without an answer, the oldest first.
pub(super) async fn open(context: &Context) -> Result<Vec<Run>, RpcError> {
    let query = RunQuery {
        states: vec![RunState::Queued, RunState::Running, RunState::AwaitingApproval],
        triggers: vec![RunTrigger::Chat],
        limit: 100,
        ..RunQuery::default()
    };
    let mut runs = context.store.runs(&query).await?.runs;
    runs.reverse();
    Ok(runs)
}

/// What the person wrote, when the run is a message.
pub(super) fn words_of(run: &Run) -> Option<&str> {
    if run.trigger != RunTrigger::Chat {
        return None;
    }
    run.payload.get("text")?.as_str()
}

async fn message(context: &Context, id: &str) -> Result<RunId, RpcError> {
    let run = context.store.run(&RunId::new(id)).await?;
    let run = run.filter(|run| run.trigger == RunTrigger::Chat);
    let none = || RpcError::new(ErrorCode::NotFound, format!("There is no message {id}."));
    Ok(run.ok_or_else(none)?.id)
}
