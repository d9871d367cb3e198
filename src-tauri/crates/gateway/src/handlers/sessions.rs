//! `sessions.*`: sessions and their transcripts.

use std::collections::HashMap;

use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_core::{JobId, Run, RunId, SessionKey};
use rouse_store::{SessionRow, TranscriptEntry, TranscriptRow};
use serde_json::Value;

use super::chat;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChangeResult, MessageFrom, MessageView, OpenMessage, SessionRef, SessionView,
    SessionsGetParams, SessionsGetResult, SessionsListParams, SessionsListResult,
};

pub(crate) async fn list(
    context: &Context,
    params: SessionsListParams,
) -> Result<SessionsListResult, RpcError> {
    let limit = params.limit.unwrap_or(100).clamp(1, 500);
    let mut sessions = Vec::new();
    for row in context.store.sessions(limit).await? {
        sessions.push(view(context, row).await?);
    }
    Ok(SessionsListResult { sessions })
}

pub(crate) async fn get(
    context: &Context,
    params: SessionsGetParams,
) -> Result<SessionsGetResult, RpcError> {
    let key = SessionKey::new(params.key);
    let before =
        match params.cursor {
            Some(cursor) => Some(cursor.parse().map_err(|_| {
                RpcError::field("cursor", "is not a cursor of an earlier response")
            })?),
            None => None,
        };
    let limit = params.limit.unwrap_or(50).clamp(1, 500);
    let session = match context.store.session(&key).await? {
        Some(row) => Some(view(context, row).await?),
        None => None,
    };
    let messages = context.store.transcript_before(&key, before, limit).await?;
    let is_full = u32::try_from(messages.len()).is_ok_and(|count| count == limit);
    let next = messages.first().filter(|first| is_full && first.id > 1);
    let open = if key == SessionKey::main() { open_messages(context).await? } else { Vec::new() };
    Ok(SessionsGetResult {
        next_cursor: next.map(|first| first.id.to_string()),
        messages: message_views(context, &messages).await?,
        session,
        open,
    })
}

pub(crate) async fn clear(context: &Context, params: SessionRef) -> Result<ChangeResult, RpcError> {
    let key = SessionKey::new(params.key);
    Ok(ChangeResult { changed: context.store.clear_session(&key, context.clock.now()).await? })
}

async fn view(context: &Context, row: SessionRow) -> Result<SessionView, RpcError> {
    let job_id = row.key.job_id();
    let job_name = match &job_id {
        Some(id) => context.store.job(id).await?.map(|job| job.name),
        None => None,
    };
    Ok(SessionView {
        key: row.key.to_string(),
        job_id: job_id.as_ref().map(JobId::to_string),
        job_name,
        created_at_ms: row.created_at.0,
        updated_at_ms: row.updated_at.0,
        messages: row.messages,
    })
}

async fn open_messages(context: &Context) -> Result<Vec<OpenMessage>, RpcError> {
    let open = chat::open_messages(context).await?;
    let view = |run: &Run| OpenMessage {
        run_id: run.id.to_string(),
        text: chat::message_text(run).unwrap_or_default().to_owned(),
        at_ms: run.created_at.0,
        state: run.state,
        live_text: context.live_text.text(&run.id),
    };
    Ok(open.iter().map(view).collect())
}

async fn message_views(
    context: &Context,
    entries: &[TranscriptRow],
) -> Result<Vec<MessageView>, RpcError> {
    let mut runs: HashMap<RunId, Option<Run>> = HashMap::new();
    let mut views = Vec::with_capacity(entries.len());
    for stored in entries {
        let chat_text = match (&stored.entry, &stored.run_id) {
            (TranscriptEntry::Message(Message::User { text }), Some(id)) => {
                if !runs.contains_key(id) {
                    runs.insert(id.clone(), context.store.run(id).await?);
                }
                let run = runs.get(id).and_then(Option::as_ref);
                // Text before the person's message is from Rouse.
                run.and_then(chat::message_text).filter(|message| text.ends_with(message))
            }
            _ => None,
        };
        let shown =
            |call: &ToolCallRequest| context.gate.shown_arguments(&call.tool, &call.arguments);
        views.push(message_view(stored, chat_text, shown));
    }
    Ok(views)
}

fn message_view(
    stored: &TranscriptRow,
    chat_text: Option<&str>,
    shown: impl Fn(&ToolCallRequest) -> Value,
) -> MessageView {
    let view = MessageView {
        id: stored.id,
        run_id: stored.run_id.as_ref().map(RunId::to_string),
        at_ms: stored.at.0,
        from: MessageFrom::Rouse,
        text: String::new(),
        calls: Vec::new(),
        call_id: None,
        tool: None,
        is_error: false,
        summarized_messages: None,
    };
    let message = match &stored.entry {
        TranscriptEntry::Message(message) => message,
        TranscriptEntry::Summary(summary) => {
            return MessageView {
                from: MessageFrom::Summary,
                run_id: Some(summary.made_by.to_string()),
                text: summary.text.clone(),
                summarized_messages: Some(summary.messages),
                ..view
            };
        }
    };
    match message {
        Message::User { text } => match chat_text {
            Some(text) => MessageView { from: MessageFrom::Person, text: text.to_owned(), ..view },
            None => MessageView { text: text.clone(), ..view },
        },
        Message::Assistant { parts } => MessageView {
            from: MessageFrom::Model,
            text: parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n"),
            calls: parts.iter().filter_map(|part| call_view(part, &shown)).collect(),
            ..view
        },
        Message::Attachments { files } => {
            let names: Vec<String> = files.iter().map(ToString::to_string).collect();
            MessageView { from: MessageFrom::Tool, text: names.join(", "), ..view }
        }
        Message::ToolResult { call_id, tool, text, is_error } => MessageView {
            from: MessageFrom::Tool,
            text: text.clone(),
            call_id: Some(call_id.clone()),
            tool: Some(tool.clone()),
            is_error: *is_error,
            ..view
        },
    }
}

fn part_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::ToolCall(_) | Part::Opaque { .. } => None,
    }
}

fn call_view(part: &Part, shown: impl Fn(&ToolCallRequest) -> Value) -> Option<ToolCallRequest> {
    match part {
        Part::ToolCall(call) => Some(ToolCallRequest {
            id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: shown(call),
        }),
        Part::Text { .. } | Part::Opaque { .. } => None,
    }
}
