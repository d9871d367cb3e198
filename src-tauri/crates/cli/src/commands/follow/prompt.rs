//! The approval prompt at the terminal.
//!
//! Owns the open approval and the meaning of a typed line. The first decision wins: a decision elsewhere, or the
//! expiry, closes the prompt with a notice. A line that was begun for a closed approval decides no other approval.
//! Pitfall: waiting for the keyboard alone; events would be missed, and a late line would answer a later approval.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write as _};

use rouse_gateway::wire::{
    ApprovalStateKind, ApprovalView, ApprovalsDecideResult, DecisionSurface, EventKindView,
    EventView,
};
use serde_json::json;

use crate::render::approval::{decision_commands, late_decision, outcome_text, print_request};
use crate::resolve::approvals::get_approval;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::KeyboardLine;

/// The approvals of a run.
pub(super) struct ApprovalPrompt<'e> {
    engine: &'e EngineConnection,
    /// Ids of approvals that were not shown yet.
    queue: VecDeque<String>,
    /// The approval at the terminal.
    open: Option<ApprovalView>,
    line: Option<KeyboardLine>,
    /// Whether the line was begun for a closed approval.
    is_stale: bool,
}

impl<'e> ApprovalPrompt<'e> {
    pub(super) const fn new(engine: &'e EngineConnection) -> Self {
        Self { engine, queue: VecDeque::new(), open: None, line: None, is_stale: false }
    }

    pub(super) async fn handle_event(&mut self, event: &EventView) -> Result<(), CliError> {
        let id =
            event.data["approvalId"].as_str().filter(|_| event.kind == EventKindView::Approval);
        let Some(id) = id else { return Ok(()) };
        if event.data["state"] == "pending" {
            self.queue.push_back(id.to_owned());
        } else if self.open.take_if(|open| open.id == id).is_some() {
            self.is_stale = self.line.is_some();
            let outcome = outcome_text(&get_approval(self.engine, id).await?);
            anstream::eprintln!("\nNo decision needed any more: the approval {outcome}.");
        }
        self.show_next().await
    }

    /// The typed line; pending while no approval is open.
    pub(super) async fn line(&mut self) -> Result<String, CliError> {
        if self.open.is_none() {
            return std::future::pending().await;
        }
        let line = self.line.get_or_insert_with(KeyboardLine::start).wait().await;
        self.line = None;
        line
    }

    /// Decides the open approval by the typed line.
    pub(super) async fn decide(&mut self, line: &str) -> Result<(), CliError> {
        if std::mem::take(&mut self.is_stale) {
            self.print_prompt();
            return Ok(());
        }
        let Some(approval) = &self.open else { return Ok(()) };
        let Some(kind) = parse_decision(line, approval.is_highest) else {
            let hint = if approval.is_highest {
                "This call needs an approval each time: allow once or deny."
            } else {
                "Type y, r or n."
            };
            anstream::eprintln!("{hint}");
            self.print_prompt();
            return Ok(());
        };
        let decision = json!({ "kind": kind });
        let params =
            json!({ "id": approval.id, "decision": decision, "from": DecisionSurface::Cli });
        self.open = None;
        let decided: ApprovalsDecideResult = self.engine.fetch("approvals.decide", params).await?;
        if let Some(refusal) = late_decision(&decided) {
            anstream::eprintln!("{refusal}");
        }
        self.show_next().await
    }

    /// Opens the next approval. Without a terminal, prints the commands that decide each approval.
    async fn show_next(&mut self) -> Result<(), CliError> {
        while self.open.is_none()
            && let Some(id) = self.queue.pop_front()
        {
            let approval = get_approval(self.engine, &id).await?;
            if approval.state != ApprovalStateKind::Pending {
                continue;
            }
            print_request(&approval);
            // A form needs a command of its own: one line cannot answer several fields.
            if self.engine.json || approval.input.is_some() || !io::stdin().is_terminal() {
                anstream::eprintln!("{}", decision_commands(&approval));
                continue;
            }
            self.open = Some(approval);
            self.print_prompt();
        }
        Ok(())
    }

    fn print_prompt(&self) {
        let is_highest = self.open.as_ref().is_some_and(|open| open.is_highest);
        let prompt = match (self.is_stale, is_highest) {
            (true, _) => "Press Enter to decide this approval: ",
            (false, true) => "allow once [y] / deny [n]: ",
            (false, false) => "allow once [y] / allow for run [r] / deny [n]: ",
        };
        anstream::eprint!("{prompt}");
        // An unflushed prompt appears with the next line.
        let _ = io::stderr().flush();
    }
}

/// The decision of a typed line; none for another key or an impossible decision. The end of the input denies.
fn parse_decision(line: &str, is_highest: bool) -> Option<&'static str> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some("once"),
        "r" | "run" => (!is_highest).then_some("run"),
        "n" | "no" => Some("deny"),
        _ => line.is_empty().then_some("deny"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_keys_decide() {
        let lines = ["y\n", " YES ", "r", "n", "No\n", ""].map(|line| parse_decision(line, false));
        let kinds = ["once", "once", "run", "deny", "deny", "deny"];
        assert_eq!(lines, kinds.map(Some));
        for (line, is_highest) in [("yep", false), ("\n", false), ("r", true)] {
            assert_eq!(parse_decision(line, is_highest), None, "{line:?}");
        }
    }
}
