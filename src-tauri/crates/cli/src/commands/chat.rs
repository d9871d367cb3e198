//! `rouse chat`: sends a message to the main session and streams the answer.
//!
//! The message is a run that continues when this command ends. Subscribes before sending, so that no text is missed.
//! Pitfall: printing a model's text unescaped; a terminal obeys control sequences.

use std::io::Write as _;

use rouse_gateway::wire::{
    ChatSendResult, EventKindView, EventView, RunDetail, RunState, RunsListResult,
};
use serde_json::{Value, json};

use super::follow;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Message
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Print the run's id instead of the answer
    #[arg(long)]
    no_wait: bool,
    /// Idempotency key: a repeated message with the same key is sent once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(crate) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let events = follow::subscribe(engine).await?;
    let text = args.text.join(" ");
    let sent = engine.call("chat.send", json!({ "text": text, "key": args.key })).await;
    let names = [("text", "Your message"), ("key", "--key")];
    let sent = sent.map_err(|error| error.with_field_names(&names))?;
    if args.no_wait {
        return engine
            .print_answer(sent, |_, sent: ChatSendResult| anstream::println!("{}", sent.run_id));
    }
    let sent: ChatSendResult = serde_json::from_value(sent)?;
    if is_behind_other_turn(engine, &sent.run_id).await? {
        anstream::eprintln!("Your message is queued behind another turn of the main session.");
    }
    let mut printed = PrintedTurn::default();
    let print_text = |event: &EventView| {
        if event.kind == EventKindView::RunText && !engine.json {
            print_new_text(event, &mut printed);
        }
    };
    follow::follow_run(events, &sent.run_id, engine, print_text).await?;
    let detail = engine.call("runs.get", json!({ "id": sent.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(detail.clone())?;
    engine.print_answer(detail, |_, detail: RunDetail| print_rest(&detail, &printed.text))?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        _ => Err(anyhow::anyhow!("The message has no answer.").into()),
    }
}

/// Whether the turn is queued while another turn of the main session runs.
async fn is_behind_other_turn(engine: &EngineConnection, run: &str) -> Result<bool, CliError> {
    let params = json!({ "states": ["queued", "running"], "triggers": ["chat", "heartbeat"] });
    let open = engine.fetch::<RunsListResult>("runs.list", params).await?.runs;
    let is_queued = open.iter().any(|other| other.id == run && other.state == RunState::Queued);
    let is_running = |state| state == RunState::Running;
    Ok(is_queued && open.iter().any(|other| other.id != run && is_running(other.state)))
}

/// The printed text of the current turn.
#[derive(Default)]
struct PrintedTurn {
    turn: Option<u64>,
    text: String,
}

impl PrintedTurn {
    /// Records the text of `turn` so far and returns the unprinted rest. Each turn starts a line.
    fn advance(&mut self, turn: Option<u64>, text: String) -> String {
        let is_first = self.turn.is_none();
        let rest = match text.strip_prefix(self.text.as_str()).filter(|_| turn == self.turn) {
            Some(rest) => rest.to_owned(),
            None if is_first || self.text.is_empty() => text.clone(),
            None => format!("\n{text}"),
        };
        *self = Self { turn, text };
        rest
    }
}

fn print_new_text(event: &EventView, printed: &mut PrintedTurn) {
    let text = event.data.get("text").and_then(Value::as_str).unwrap_or_default();
    // A line break may be split between two events.
    let text = escape(text.strip_suffix('\r').unwrap_or(text));
    let turn = event.data.get("turn").and_then(Value::as_u64);
    anstream::print!("{}", printed.advance(turn, text));
    // Unflushed text appears with the next text.
    let _ = std::io::stdout().flush();
}

fn print_rest(detail: &RunDetail, printed: &str) {
    let run = &detail.run;
    let answer = run.error.as_ref().or(run.summary.as_ref()).or(run.reason.as_ref());
    let answer = escape(answer.map_or("", String::as_str));
    anstream::println!("{}", unprinted_text(answer.trim(), printed));
}

/// The unprinted end of the answer. A run can end before the event of the last text arrives.
fn unprinted_text(answer: &str, printed: &str) -> String {
    match answer.strip_prefix(printed.trim()) {
        Some(rest) if printed.ends_with(char::is_whitespace) => rest.trim_start().to_owned(),
        Some(rest) => rest.to_owned(),
        None if answer.is_empty() => String::new(),
        None => format!("\n{answer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{PrintedTurn, unprinted_text};

    #[test]
    fn each_turn_starts_a_line_and_is_printed_once() {
        let mut turn_text = PrintedTurn::default();
        let printed: String = [
            (1, "I look"),
            (1, "I look."),
            (2, "It"),
            (2, "It is late."),
            (2, "It is late."),
            (3, "Go o"),
            (3, ""),
            (4, "Good night."),
            (5, "Good night. Sleep well."),
        ]
        .into_iter()
        .map(|(turn, text)| turn_text.advance(Some(turn), text.to_owned()))
        .collect();
        assert_eq!(printed, "I look.\nIt is late.\nGo o\nGood night.\nGood night. Sleep well.");
        assert_eq!(unprinted_text("Good night. Sleep well.", &turn_text.text), "");
    }

    #[test]
    fn printed_text_is_not_repeated() {
        for (answer, printed, expected) in [
            ("All done.", "All done.", ""),
            ("All done: three lines.", "All done: th", "ree lines."),
            ("All done: three lines.", "All done: ", "three lines."),
            ("All done.", "\n\nAll", " done."),
            ("All done.", "", "All done."),
            ("The model broke off.", "All done: th", "\nThe model broke off."),
            ("", "All done.", ""),
        ] {
            assert_eq!(unprinted_text(answer, printed), expected, "{answer:?} after {printed:?}");
        }
    }
}
