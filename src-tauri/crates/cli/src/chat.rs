//! `rouse chat`: writes to the main session and shows the answer as it comes.
//!
//! The message is a run like any other and goes on when this command ends; the command only looks on. It listens before
//! it sends, so that no word is missed. One could get it wrong by printing what a model says as it is: it is text from
//! outside, and a terminal obeys some of it.

use std::io::Write as _;

use rouse_gateway::wire::{
    ChatSendResult, EventKind, EventView, RunDetail, RunState, RunsListResult,
};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::plain;
use crate::runs;
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
    let events = runs::from_now_on(session).await?;
    let text = args.text.join(" ");
    let sent = session.call("chat.send", json!({ "text": text, "key": args.key })).await;
    let sent =
        sent.map_err(|failure| failure.calling(&[("text", "Your message"), ("key", "--key")]))?;
    if args.no_wait {
        return session.tell(sent, |_, sent: ChatSendResult| {
            anstream::println!("{}", sent.run_id);
            Ok(())
        });
    }
    let sent: ChatSendResult = serde_json::from_value(sent)?;
    if is_behind_another(session, &sent.run_id).await? {
        anstream::eprintln!("Your message is queued behind another turn of the main session.");
    }
    let mut shown = Shown::default();
    let show = |event: &EventView| {
        if event.kind == EventKind::RunText && !session.json {
            show_words(event, &mut shown);
        }
    };
    runs::look_on(events, &sent.run_id, session, show).await?;
    let detail = session.call("runs.get", json!({ "id": sent.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(detail.clone())?;
    session.tell(detail, |_, detail: RunDetail| {
        finish(&detail, &shown.text);
        Ok(())
    })?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        _ => Err(anyhow::anyhow!("The message has no answer.").into()),
    }
}

/// Whether the turn is queued while another one of the main session runs.
async fn is_behind_another(session: &Session, run: &str) -> Result<bool, Failure> {
    let params = json!({ "states": ["queued", "running"], "triggers": ["chat", "heartbeat"] });
    let open = session.call("runs.list", params).await?;
    let open: RunsListResult = serde_json::from_value(open)?;
    let is_queued = open.runs.iter().any(|one| one.id == run && one.state == RunState::Queued);
    let is_running = |state| state == RunState::Running;
    Ok(is_queued && open.runs.iter().any(|one| one.id != run && is_running(one.state)))
}

/// What was printed of the turn that is being said.
#[derive(Default)]
struct Shown {
    turn: Option<u64>,
    text: String,
}

impl Shown {
    /// What is to be printed now that `turn` has said `words` so far: each turn begins a line.
    fn next(&mut self, turn: Option<u64>, words: String) -> String {
        let is_first = self.turn.is_none();
        let new = match words.strip_prefix(self.text.as_str()).filter(|_| turn == self.turn) {
            Some(new) => new.to_owned(),
            None if is_first || self.text.is_empty() => words.clone(),
            None => format!("\n{words}"),
        };
        *self = Self { turn, text: words };
        new
    }
}

fn show_words(event: &EventView, shown: &mut Shown) {
    let words = event.data.get("text").and_then(Value::as_str).unwrap_or_default();
    // The end of a line may come in halves.
    let words = plain(words.strip_suffix('\r').unwrap_or(words));
    let turn = event.data.get("turn").and_then(Value::as_u64);
    anstream::print!("{}", shown.next(turn, words));
    // What cannot be flushed is shown with the next words.
    let _ = std::io::stdout().flush();
}

fn finish(detail: &RunDetail, shown: &str) {
    let said =
        detail.run.error.as_ref().or(detail.run.summary.as_ref()).or(detail.run.reason.as_ref());
    let said = plain(said.map_or("", String::as_str));
    anstream::println!("{}", rest(said.trim(), shown));
}

/// What of `said` is not to be read yet. The run can end before the event of its last words has come.
fn rest(said: &str, shown: &str) -> String {
    match said.strip_prefix(shown.trim()) {
        Some(rest) if shown.ends_with(char::is_whitespace) => rest.trim_start().to_owned(),
        Some(rest) => rest.to_owned(),
        None if said.is_empty() => String::new(),
        None => format!("\n{said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Shown, rest};

    #[test]
    fn each_turn_begins_a_line_and_is_said_once() {
        let mut shown = Shown::default();
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
        .map(|(turn, words)| shown.next(Some(turn), words.to_owned()))
        .collect();
        assert_eq!(printed, "I look.\nIt is late.\nGo o\nGood night.\nGood night. Sleep well.");
        assert_eq!(rest("Good night. Sleep well.", &shown.text), "");
    }

    #[test]
    fn what_was_shown_is_not_said_again() {
        for (said, shown, expected) in [
            ("All done.", "All done.", ""),
            ("All done: three lines.", "All done: th", "ree lines."),
            ("All done: three lines.", "All done: ", "three lines."),
            ("All done.", "\n\nAll", " done."),
            ("All done.", "", "All done."),
            ("The model broke off.", "All done: th", "\nThe model broke off."),
            ("", "All done.", ""),
        ] {
            assert_eq!(rest(said, shown), expected, "{said:?} after {shown:?}");
        }
    }
}
