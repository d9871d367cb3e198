//! `rouse chat`: writes to the main session and shows the answer as it comes.
//!
//! The message is a run like any other and goes on when this command ends; the command only looks on. It listens before
//! it sends, so that no word is missed. One could get it wrong by printing what a model says as it is: it is text from
//! outside, and a terminal obeys some of it.

use std::io::Write as _;

use rouse_gateway::EventStream;
use rouse_gateway::wire::{
    ChatSendResult, EventKind, EventView, RunDetail, RunState, SystemStatus,
};
use serde_json::{Value, json};

use crate::approvals;
use crate::exit::Failure;
use crate::output::plain;
use crate::runs::is_over;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you want to say.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Do not wait for the answer: print the id of the run that gives it.
    #[arg(long)]
    no_wait: bool,
    /// What the message is known by: sent again with the same key, it is taken once. For scripts that may try again.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let status = session.call("system.status", json!({})).await?;
    let status: SystemStatus = serde_json::from_value(status)?;
    let mut events = session.client()?.events(Some(status.seq)).await?;
    let text = args.text.join(" ");
    let sent = session.call("chat.send", json!({ "text": text, "key": args.key })).await?;
    if args.no_wait {
        return session.tell(sent, |_, sent: ChatSendResult| {
            anstream::println!("{}", sent.run_id);
            Ok(())
        });
    }
    let sent: ChatSendResult = serde_json::from_value(sent)?;
    let looking = look_on(&mut events, &sent.run_id, session);
    let shown = approvals::until_left(session, &sent.run_id, looking).await?;
    let detail = session.call("runs.get", json!({ "id": sent.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(detail.clone())?;
    session.tell(detail, |_, detail: RunDetail| {
        finish(&detail, &shown);
        Ok(())
    })?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        _ => Err(anyhow::anyhow!("The message has no answer.").into()),
    }
}

/// Shows words and questions until the run is over; answers what was shown of the last words.
async fn look_on(
    events: &mut EventStream,
    run: &str,
    session: &Session,
) -> Result<String, Failure> {
    let mut shown = String::new();
    while let Some(event) = events.next().await {
        if event.data.get("runId").and_then(Value::as_str) != Some(run) {
            continue;
        }
        if event.kind == EventKind::RunText && !session.json {
            show_words(&event, &mut shown);
        }
        if event.kind == EventKind::Approval && event.data["state"] == "pending" {
            approvals::ask(session, event.data["approvalId"].as_str().unwrap_or_default()).await?;
        }
        if is_over(&event) {
            return Ok(shown);
        }
    }
    Err(Failure::Refused("Rouse has ended. The message is answered when it runs again.".to_owned()))
}

/// Each event bears all the words of one turn of the model so far.
fn show_words(event: &EventView, shown: &mut String) {
    let words = plain(event.data.get("text").and_then(Value::as_str).unwrap_or_default());
    match words.strip_prefix(shown.as_str()) {
        Some(new) => anstream::print!("{new}"),
        None => anstream::print!("\n{words}"),
    }
    // What cannot be flushed is shown with the next words.
    let _ = std::io::stdout().flush();
    *shown = words;
}

fn finish(detail: &RunDetail, shown: &str) {
    let said =
        detail.run.error.as_ref().or(detail.run.summary.as_ref()).or(detail.run.reason.as_ref());
    let said = plain(said.map_or("", String::as_str));
    if said.is_empty() || shown.trim_end() == said.trim_end() {
        anstream::println!();
    } else {
        anstream::println!("{}{said}", if shown.is_empty() { "" } else { "\n" });
    }
}
