//! `rouse sessions …`: what was said, in the main session and in those of jobs.
//!
//! A transcript is text from outside, and is printed as such: nothing in it reaches the terminal as more than words.

mod outside;

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_gateway::wire::{
    Done, MessageFrom, MessageView, RunDetail, SessionView, SessionsGetResult, SessionsListResult,
};
use serde_json::json;

use crate::approvals::typed;
use crate::cron::resolve;
use crate::exit::Failure;
use crate::ids;
use crate::output::{instant, is_narrow, plain, print, short, table};
use crate::session::Session;

/// Rows of a list that nobody asked more of.
const USUAL: u32 = 20;
/// Sessions that are looked through for a name.
const MOST: u32 = 500;
/// The session of the person.
const MAIN: &str = "main";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the sessions, the newest first.
    List {
        /// At most so many.
        #[arg(long, default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show the newest messages of one, the newest last.
    Show {
        /// `main`, a job's id or name, or a key as `list` prints it.
        #[arg(default_value = "main")]
        session: String,
        /// At most so many.
        #[arg(long, default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        /// Those before an earlier answer's beginning: the `nextCursor` that it printed.
        #[arg(long, value_name = "CURSOR")]
        before: Option<String>,
    },
    /// Take away all that was said in one, and with it what its next run is told and what it has read. Its runs stay.
    Clear {
        /// `main`, a job's id or name, or a key as `list` prints it.
        session: String,
        /// Do not ask first.
        #[arg(long, short)]
        yes: bool,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { limit: USUAL }
    }
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List { limit } => {
            session
                .show(
                    "sessions.list",
                    json!({ "limit": limit }),
                    |session, found: SessionsListResult| {
                        print_table(session, &found.sessions);
                        Ok(())
                    },
                )
                .await
        }
        Command::Show { session: named, limit, before } => {
            let key = key_of(session, &named).await?;
            let params = json!({ "key": key, "limit": limit, "cursor": before });
            let answer = session.call("sessions.get", params).await?;
            let unanswered = match session.json {
                true => HashSet::new(),
                false => unanswered(session, &serde_json::from_value(answer.clone())?).await?,
            };
            session.tell(answer, |session, found: SessionsGetResult| {
                print_messages(session, &found, &unanswered);
                Ok(())
            })
        }
        Command::Clear { session: named, yes } => clear(session, &named, yes).await,
    }
}

/// What was said cannot be brought back, so somebody has to say yes to it.
async fn clear(session: &Session, named: &str, yes: bool) -> Result<(), Failure> {
    let key = key_of(session, named).await?;
    if !yes {
        if session.json || !std::io::stdin().is_terminal() {
            return Err(Failure::input(format!(
                "What was said in {named} cannot be brought back: say --yes to clear it."
            )));
        }
        anstream::eprint!(
            "Clear all that was said in {}? It cannot be brought back. [y]es / [n]o: ",
            plain(named)
        );
        // What cannot be flushed is shown with the next line.
        let _ = std::io::stderr().flush();
        if !matches!(typed().await?.trim(), "y" | "Y" | "yes") {
            anstream::eprintln!("Nothing was cleared.");
            return Ok(());
        }
    }
    session
        .show("sessions.clear", json!({ "key": key }), |_, done: Done| {
            let words = if done.changed { "Cleared." } else { "Nothing was said in it." };
            anstream::println!("{words}");
            Ok(())
        })
        .await
}

async fn key_of(session: &Session, named: &str) -> Result<String, Failure> {
    if named == MAIN || named.starts_with("cron:") {
        return Ok(named.to_owned());
    }
    match resolve(session, named).await {
        Err(failure) if failure.is_not_found() => Err(none_called(session, named).await?),
        resolved => Ok(format!("cron:{}", resolved?)),
    }
}

/// That nothing was said in a session of this name, with one that is spelled like it.
async fn none_called(session: &Session, named: &str) -> Result<Failure, Failure> {
    let found = session.call("sessions.list", json!({ "limit": MOST })).await?;
    let found: SessionsListResult = serde_json::from_value(found)?;
    let of_jobs = found.sessions.iter().filter_map(|one| one.job_name.as_deref());
    Ok(ids::unknown("session", named, std::iter::once(MAIN).chain(of_jobs), "rouse sessions list"))
}

fn print_table(session: &Session, sessions: &[SessionView]) {
    if sessions.is_empty() {
        anstream::println!("Nothing was said yet.");
        return;
    }
    let now = session.clock.now().0;
    let mut table = table(&["SESSION", "MESSAGES", "LAST", "KEY"]);
    for one in sessions {
        let name = match (&one.job_name, &one.job_id) {
            (Some(name), _) => short(name, 36),
            (None, Some(_)) => "a job that is gone".to_owned(),
            (None, None) => "with you".to_owned(),
        };
        let last = instant(one.updated_at_ms, now, session.clock.zone());
        table.add_row([name, one.messages.to_string(), last, key(one, is_narrow(&table))]);
    }
    print(&table);
}

/// What `show` takes for it: where there is no room for the key, the beginning of the job's id.
fn key(one: &SessionView, is_narrow: bool) -> String {
    match (&one.job_id, &one.job_name) {
        (Some(id), Some(_)) if is_narrow => plain(id).chars().take(8).collect(),
        _ => plain(&one.key),
    }
}

/// The runs that the person's words began and that ended without a word of the model.
async fn unanswered(
    session: &Session,
    found: &SessionsGetResult,
) -> Result<HashSet<String>, Failure> {
    let by = |from: MessageFrom| found.messages.iter().filter(move |said| said.from == from);
    let answered: HashSet<&String> = by(MessageFrom::Model)
        .filter(|said| {
            let has_ended = said.calls.iter().any(|call| call.tool == "complete_run");
            has_ended || !said.text.trim().is_empty()
        })
        .filter_map(|said| said.run_id.as_ref())
        .collect();
    let mut unanswered = HashSet::new();
    let asked = by(MessageFrom::Person).filter_map(|said| said.run_id.as_ref());
    for id in asked.filter(|id| !answered.contains(id)) {
        let run: RunDetail = match session.call("runs.get", json!({ "id": id })).await {
            Ok(run) => serde_json::from_value(run)?,
            // It is not kept any more.
            Err(failure) if failure.is_not_found() => continue,
            Err(failure) => return Err(failure),
        };
        if run.run.finished_at_ms.is_some() {
            unanswered.insert(id.clone());
        }
    }
    Ok(unanswered)
}

fn print_messages(session: &Session, found: &SessionsGetResult, unanswered: &HashSet<String>) {
    if found.messages.is_empty() {
        anstream::println!("Nothing was said yet.");
        return;
    }
    if let Some(cursor) = &found.next_cursor {
        anstream::eprintln!("There is more before: --before {cursor}\n");
    }
    let now = session.clock.now().0;
    for message in &found.messages {
        let at = instant(message.at_ms, now, session.clock.zone());
        anstream::println!("{}, {at}", plain(&who(message)));
        for line in outside::drawn(&said(message)) {
            anstream::println!("  {}", marked(&line));
        }
        for call in &message.calls {
            anstream::println!(
                "  {}",
                plain(&format!("calls {} {}", call.tool, short(&call.arguments.to_string(), 160)))
            );
        }
        if message.from == MessageFrom::Person
            && let Some(run) = message.run_id.as_ref().filter(|run| unanswered.contains(*run))
        {
            anstream::println!("  No answer came of this. See why: rouse runs show {}", plain(run));
        }
        anstream::println!();
    }
}

/// A line as it may stand on a terminal; the line beside what is from outside is Rouse's own.
fn marked(line: &str) -> String {
    match line.strip_prefix(outside::BESIDE) {
        Some(inside) => format!("{}{}", outside::BESIDE, plain(inside)),
        None => plain(line),
    }
}

fn who(message: &MessageView) -> String {
    match message.from {
        MessageFrom::Person => "You".to_owned(),
        MessageFrom::Rouse => "Rouse".to_owned(),
        MessageFrom::Model => "The model".to_owned(),
        MessageFrom::Tool => {
            let tool = message.tool.as_deref().unwrap_or("a tool");
            format!("{tool}{}", if message.is_error { ", an error" } else { "" })
        }
        MessageFrom::Summary => {
            let messages = message.stands_for.unwrap_or_default();
            format!("Summary of the first {messages} messages, for the model")
        }
    }
}

/// What tools answer is shown by its beginning; `--json` has all of it.
fn said(message: &MessageView) -> String {
    match message.from {
        MessageFrom::Tool => message.text.chars().take(1_000).collect(),
        MessageFrom::Person | MessageFrom::Rouse | MessageFrom::Model | MessageFrom::Summary => {
            message.text.clone()
        }
    }
}
