//! `rouse sessions …`: the transcripts of the main session and of agent jobs.
//!
//! A transcript is untrusted text and is escaped for the terminal.

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};

use clap::Subcommand;
use rouse_gateway::wire::{
    ChangeResult, MessageFrom, MessageView, RunDetail, SessionView, SessionsGetResult,
    SessionsListResult,
};
use serde_json::json;

use crate::render::table::{is_narrow, new_table, print_rows};
use crate::render::text::{escape, shorten};
use crate::render::time::local_time;
use crate::render::untrusted_text::transcript_lines;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::jobs::find_job;
use crate::resolve::keyboard::{is_confirmed, read_line};

/// The default number of rows.
const DEFAULT_LIMIT: u32 = 20;
/// Maximum sessions for name suggestions.
const MAX_SUGGESTIONS: u32 = 500;
/// Maximum characters of a tool's output; `--json` has no limit.
const MAX_TOOL_OUTPUT: usize = 1_000;
const MAIN: &str = "main";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, newest first
    List {
        /// Maximum number of sessions
        #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show the newest messages of a session
    Show {
        /// Session: `main`, a job (id or name), or a key of `rouse sessions list`
        #[arg(default_value = "main")]
        session: String,
        /// Maximum number of messages
        #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        /// Only messages before the `nextCursor` of an earlier answer
        #[arg(long, value_name = "CURSOR")]
        before: Option<String>,
    },
    /// Clear a session: transcript, context of the next run, and taint; the runs stay
    Clear {
        /// Session: `main`, a job (id or name), or a key of `rouse sessions list`
        session: String,
        /// Clear without confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { limit: DEFAULT_LIMIT }
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List { limit } => {
            let params = json!({ "limit": limit });
            engine
                .show("sessions.list", params, |engine, found: SessionsListResult| {
                    print_sessions(engine, &found.sessions)
                })
                .await
        }
        Command::Show { session, limit, before } => {
            let key = find_session(engine, &session).await?;
            let params = json!({ "key": key, "limit": limit, "cursor": before });
            let answer = engine.call("sessions.get", params).await?;
            let unanswered = if engine.json {
                HashSet::new()
            } else {
                unanswered_runs(engine, &serde_json::from_value(answer.clone())?).await?
            };
            engine.print_answer(answer, |engine, found: SessionsGetResult| {
                print_messages(engine, &found, &unanswered)
            })
        }
        Command::Clear { session, yes } => clear(engine, &session, yes).await,
    }
}

/// Clears a session after a confirmation, because no transcript can be restored.
async fn clear(engine: &EngineConnection, session: &str, yes: bool) -> Result<(), CliError> {
    let key = find_session(engine, session).await?;
    if !yes {
        if engine.json || !std::io::stdin().is_terminal() {
            return Err(CliError::input(format!(
                "The transcript of {session} cannot be restored: add --yes to clear it."
            )));
        }
        let name = escape(session);
        anstream::eprint!("Clear the transcript of {name} permanently? clear [y] / keep [n]: ");
        // An unflushed prompt appears with the next line.
        let _ = std::io::stderr().flush();
        if !is_confirmed(&read_line().await?) {
            anstream::eprintln!("Nothing was cleared.");
            return Ok(());
        }
    }
    engine
        .show("sessions.clear", json!({ "key": key }), |_, result: ChangeResult| {
            let result = if result.changed { "Cleared." } else { "Already empty." };
            anstream::println!("{result}");
        })
        .await
}

/// The key of the session that `wanted` names.
async fn find_session(engine: &EngineConnection, wanted: &str) -> Result<String, CliError> {
    if wanted == MAIN || wanted.starts_with("cron:") {
        return Ok(wanted.to_owned());
    }
    match find_job(engine, wanted).await {
        Err(error) if error.is_not_found() => Err(unknown_session(engine, wanted).await?),
        found => Ok(format!("cron:{}", found?)),
    }
}

async fn unknown_session(engine: &EngineConnection, wanted: &str) -> Result<CliError, CliError> {
    let params = json!({ "limit": MAX_SUGGESTIONS });
    let found: SessionsListResult = engine.fetch("sessions.list", params).await?;
    let names = found.sessions.iter().filter_map(|session| session.job_name.as_deref());
    let names = std::iter::once(MAIN).chain(names);
    Ok(ids::unknown_name("session", wanted, names, "rouse sessions list"))
}

fn print_sessions(engine: &EngineConnection, sessions: &[SessionView]) {
    if sessions.is_empty() {
        anstream::println!("No sessions yet.");
        return;
    }
    let mut table = new_table(&["SESSION", "MESSAGES", "LAST", "KEY"]);
    for session in sessions {
        let name = match (&session.job_name, &session.job_id) {
            (Some(name), _) => shorten(name, 36),
            (None, Some(_)) => "a deleted job".to_owned(),
            (None, None) => "with you".to_owned(),
        };
        let last = local_time(engine, session.updated_at_ms);
        let key = key_cell(session, is_narrow(&table));
        table.add_row([name, session.messages.to_string(), last, key]);
    }
    print_rows(&table);
}

/// The key; on a narrow terminal, the prefix of the job's id.
fn key_cell(session: &SessionView, is_narrow: bool) -> String {
    match (&session.job_id, &session.job_name) {
        (Some(id), Some(_)) if is_narrow => escape(id).chars().take(8).collect(),
        _ => escape(&session.key),
    }
}

/// The finished runs of user messages without an answer of the model.
async fn unanswered_runs(
    engine: &EngineConnection,
    found: &SessionsGetResult,
) -> Result<HashSet<String>, CliError> {
    let by = |from: MessageFrom| found.messages.iter().filter(move |message| message.from == from);
    let answered: HashSet<&String> = by(MessageFrom::Model)
        .filter(|message| {
            let has_completed = message.calls.iter().any(|call| call.tool == "complete_run");
            has_completed || !message.text.trim().is_empty()
        })
        .filter_map(|message| message.run_id.as_ref())
        .collect();
    let mut unanswered = HashSet::new();
    let started = by(MessageFrom::Person).filter_map(|message| message.run_id.as_ref());
    for id in started.filter(|id| !answered.contains(id)) {
        let detail: RunDetail = match engine.fetch("runs.get", json!({ "id": id })).await {
            Ok(detail) => detail,
            // Removed by retention.
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error),
        };
        if detail.run.finished_at_ms.is_some() {
            unanswered.insert(id.clone());
        }
    }
    Ok(unanswered)
}

fn print_messages(
    engine: &EngineConnection,
    found: &SessionsGetResult,
    unanswered: &HashSet<String>,
) {
    if found.messages.is_empty() {
        anstream::println!("No messages yet.");
        return;
    }
    if let Some(cursor) = &found.next_cursor {
        anstream::eprintln!("There are earlier messages: --before {cursor}\n");
    }
    for message in &found.messages {
        let at = local_time(engine, message.at_ms);
        anstream::println!("{}, {at}", escape(&author_text(message)));
        for line in transcript_lines(&message_text(message)) {
            anstream::println!("  {line}");
        }
        for call in &message.calls {
            let arguments = shorten(&call.arguments.to_string(), 160);
            anstream::println!("  {}", escape(&format!("calls {} {arguments}", call.tool)));
        }
        if message.from == MessageFrom::Person
            && let Some(run) = message.run_id.as_ref().filter(|run| unanswered.contains(*run))
        {
            anstream::println!("  No answer. See the reason: rouse runs show {}", escape(run));
        }
        anstream::println!();
    }
}

fn author_text(message: &MessageView) -> String {
    match message.from {
        MessageFrom::Person => "You".to_owned(),
        MessageFrom::Rouse => "Rouse".to_owned(),
        MessageFrom::Model => "The model".to_owned(),
        MessageFrom::Tool => {
            let tool = message.tool.as_deref().unwrap_or("a tool");
            format!("{tool}{}", if message.is_error { ", an error" } else { "" })
        }
        MessageFrom::Summary => {
            let messages = message.summarized_messages.unwrap_or_default();
            format!("Summary of the first {messages} messages, for the model")
        }
    }
}

fn message_text(message: &MessageView) -> String {
    match message.from {
        MessageFrom::Tool => message.text.chars().take(MAX_TOOL_OUTPUT).collect(),
        MessageFrom::Person | MessageFrom::Rouse | MessageFrom::Model | MessageFrom::Summary => {
            message.text.clone()
        }
    }
}
