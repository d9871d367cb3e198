//! The questions of a run that somebody looks on at, put to whoever sits at the terminal.
//!
//! Owns which question stands there and what a line is an answer to. The first answer wins: one that was given elsewhere, or
//! the end of the question's time, takes it away and says so. A line that was begun under a question that has gone answers
//! no other one. One could get it wrong by waiting for the keyboard alone: nothing else would be heard meanwhile, and a late
//! line would be taken for the answer to what has come since.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use rouse_gateway::wire::{AnsweredFrom, ApprovalState, ApprovalView, EventKind, EventView};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{ended, preview, too_late, ways};
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

/// The questions of one run.
pub(crate) struct Asking<'s> {
    session: &'s Session,
    /// Those that have come and are not shown yet.
    waiting: VecDeque<String>,
    /// The one that stands at the terminal.
    open: Option<ApprovalView>,
    /// The line that is read.
    line: Option<oneshot::Receiver<io::Result<String>>>,
    /// Whether that line was begun under a question that has gone.
    is_stale: bool,
}

impl<'s> Asking<'s> {
    pub(crate) const fn new(session: &'s Session) -> Self {
        Self { session, waiting: VecDeque::new(), open: None, line: None, is_stale: false }
    }

    /// Takes note of what an event says of a question.
    pub(crate) async fn hear(&mut self, event: &EventView) -> Result<(), Failure> {
        let id = event.data["approvalId"].as_str().filter(|_| event.kind == EventKind::Approval);
        let Some(id) = id else { return Ok(()) };
        if event.data["state"] == "pending" {
            self.waiting.push_back(id.to_owned());
        } else if self.open.take_if(|open| open.id == id).is_some() {
            self.is_stale = self.line.is_some();
            let how = ended(&self.look(id).await?);
            anstream::eprintln!("\nNo answer is needed any more: the question {how}.");
        }
        self.go_on().await
    }

    /// A line for the question that stands there; none comes while there is no question.
    pub(crate) async fn line(&mut self) -> Result<String, Failure> {
        if self.open.is_none() {
            return std::future::pending().await;
        }
        let read = self.line.get_or_insert_with(read_line).await;
        self.line = None;
        typed_in(read)
    }

    /// Answers the question that stands there with this line.
    pub(crate) async fn answer(&mut self, said: &str) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_stale) {
            self.prompt();
            return Ok(());
        }
        let Some(asked) = &self.open else { return Ok(()) };
        let Some(kind) = said_kind(said, asked.is_highest) else {
            anstream::eprintln!("This call is asked about each time: yes once, or no.");
            self.prompt();
            return Ok(());
        };
        let answer = json!({ "kind": kind });
        let params = json!({ "id": asked.id, "answer": answer, "from": AnsweredFrom::Cli });
        self.open = None;
        if let Some(late) = too_late(self.session.call("approvals.decide", params).await?)? {
            anstream::eprintln!("{late}");
        }
        self.go_on().await
    }

    /// Shows the next question that waits. Where nobody sits at a terminal it is told how all of them are answered elsewhere.
    async fn go_on(&mut self) -> Result<(), Failure> {
        while self.open.is_none()
            && let Some(id) = self.waiting.pop_front()
        {
            let asked = self.look(&id).await?;
            if asked.state != ApprovalState::Pending {
                continue;
            }
            show(&asked);
            if self.session.json || !io::stdin().is_terminal() {
                anstream::eprintln!("{}", ways(&asked));
                continue;
            }
            self.open = Some(asked);
            self.prompt();
        }
        Ok(())
    }

    async fn look(&self, id: &str) -> Result<ApprovalView, Failure> {
        let asked: Value = self.session.call("approvals.get", json!({ "id": id })).await?;
        Ok(serde_json::from_value(asked)?)
    }

    fn prompt(&self) {
        let is_highest = self.open.as_ref().is_some_and(|open| open.is_highest);
        let words = match (self.is_stale, is_highest) {
            (true, _) => "Press Enter to answer this one: ",
            (false, true) => "[y]es once / [n]o: ",
            (false, false) => "[y]es once / [r]un / [n]o: ",
        };
        anstream::eprint!("{words}");
        // What cannot be flushed is shown with the next line.
        let _ = io::stderr().flush();
    }
}

/// It is told beside the answer of the command, which may be read by a program.
pub(super) fn show(asked: &ApprovalView) {
    anstream::eprintln!("\nMay it use {}? {}", asked.tool, plain(&asked.why));
    for line in preview(&asked.preview, &asked.arguments) {
        anstream::eprintln!("  {line}");
    }
    if let Some(why) = &asked.ungranted {
        anstream::eprintln!("{}", plain(why));
    }
}

/// A line from the keyboard.
pub(crate) async fn typed() -> Result<String, Failure> {
    typed_in(read_line().await)
}

/// Reads a line on a thread of its own, so that the command can end while nobody types.
fn read_line() -> oneshot::Receiver<io::Result<String>> {
    let (send, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let read = io::stdin().lock().read_line(&mut said).map(|_| said);
        // Nobody listens any more when the command was ended meanwhile.
        let _ = send.send(read);
    });
    line
}

fn typed_in(
    read: Result<io::Result<String>, oneshot::error::RecvError>,
) -> Result<String, Failure> {
    Ok(read.map_err(|_| anyhow::anyhow!("the keyboard cannot be read"))??)
}

/// What a line typed at a question is taken for; none for what cannot be said to it. Silence and the end of the input are no
/// yes.
fn said_kind(said: &str, is_highest: bool) -> Option<&'static str> {
    match said.trim().to_lowercase().as_str() {
        "y" | "yes" => Some("once"),
        "r" | "run" => (!is_highest).then_some("run"),
        _ => Some("deny"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let words = ["y\n", " YES ", "r", "n", "", "yep"].map(|said| said_kind(said, false));
        let kinds = ["once", "once", "run", "deny", "deny", "deny"];
        assert_eq!(words, kinds.map(Some));
        assert_eq!(said_kind("r", true), None);
    }
}
