//! `chat.*`: chat messages for the main session. Each message is a run, whose events carry the answer.

use rouse_core::{Run, RunId, RunState, RunTrigger};
use rouse_scheduler::ChatMessage;
use rouse_store::RunQuery;
use serde_json::json;

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{ChangeResult, ChatAbortParams, ChatSendParams, ChatSendResult};

/// Maximum length of a message.
const MAX_CHARS: usize = 50_000;
/// Maximum number of unanswered messages.
const MAX_OPEN: usize = 20;
const TOO_MANY_OPEN: &str = "20 messages are unanswered. Wait for an answer, or stop them.";
const NO_MODEL: &str = "No model is set up. Start Ollama or LM Studio on this computer, add a provider under Settings, or run `rouse models add PROVIDER`.";

pub(crate) async fn send(
    context: &Context,
    params: ChatSendParams,
) -> Result<ChatSendResult, RpcError> {
    let message = ChatMessage { text: params.text, key: params.key, reply_to: None };
    let run_id = accept(context, message).await?;
    Ok(ChatSendResult { run_id: run_id.to_string() })
}

/// Checks a message and sends it to the main session. Moves `last` to the place of the message.
pub(crate) async fn accept(context: &Context, message: ChatMessage) -> Result<RunId, RpcError> {
    let ChatMessage { text, key, reply_to } = message;
    let text = text.trim();
    if text.is_empty() {
        return Err(RpcError::field("text", "must not be empty"));
    }
    if text.chars().count() > MAX_CHARS {
        return Err(RpcError::field("text", "must be at most 50,000 characters"));
    }
    let key = key.as_deref();
    if key.is_some_and(|key| !is_key(key)) {
        return Err(RpcError::field("key", "must be 8 to 64 letters, digits, _ and -"));
    }
    super::input::check_secrets(context, "key", &json!(key)).await?;
    let message = ChatMessage {
        text: context.gate.safety().redact_stored(text),
        key: key.map(str::to_owned),
        reply_to: reply_to.clone(),
    };
    // A repeated message needs no further checks.
    if is_accepted(context, key).await? {
        return Ok(context.scheduler.chat(message).await?);
    }
    if context.models.active_label().is_none() {
        // Detection at the start may not be finished, or a server may have been started since.
        context.models.list(true).await;
    }
    if context.models.active_label().is_none() {
        let message = context.models.missing_provider().unwrap_or_else(|| NO_MODEL.to_owned());
        return Err(RpcError::new(ErrorCode::Conflict, message));
    }
    if open_messages(context).await?.len() >= MAX_OPEN {
        return Err(RpcError::new(ErrorCode::Conflict, TOO_MANY_OPEN));
    }
    let run_id = context.scheduler.chat(message).await?;
    context.channels.update(|directory| directory.last = reply_to);
    Ok(run_id)
}

fn is_key(key: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (8..=64).contains(&key.len()) && key.chars().all(is_allowed)
}

async fn is_accepted(context: &Context, key: Option<&str>) -> Result<bool, RpcError> {
    let Some(key) = key else { return Ok(false) };
    Ok(context.store.run(&RunId::new(format!("chat-{key}"))).await?.is_some())
}

pub(crate) async fn abort(
    context: &Context,
    params: ChatAbortParams,
) -> Result<ChangeResult, RpcError> {
    let ids = match params.run_id {
        Some(id) => vec![find_message(context, &id).await?],
        None => open_messages(context).await?.into_iter().map(|run| run.id).collect(),
    };
    let mut changed = false;
    // Newest first: the end of a message starts the next one.
    for id in ids.iter().rev() {
        changed |= context.scheduler.cancel(id, "Stopped by you").await?;
    }
    Ok(ChangeResult { changed })
}

/// The unanswered messages, oldest first.
pub(super) async fn open_messages(context: &Context) -> Result<Vec<Run>, RpcError> {
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

/// The text of a chat message; none for other runs.
pub(super) fn message_text(run: &Run) -> Option<&str> {
    if run.trigger != RunTrigger::Chat {
        return None;
    }
    run.payload.get("text")?.as_str()
}

async fn find_message(context: &Context, id: &str) -> Result<RunId, RpcError> {
    let run = context.store.run(&RunId::new(id)).await?;
    let run = run.filter(|run| run.trigger == RunTrigger::Chat);
    let not_found = || RpcError::new(ErrorCode::NotFound, format!("There is no message {id}."));
    Ok(run.ok_or_else(not_found)?.id)
}
