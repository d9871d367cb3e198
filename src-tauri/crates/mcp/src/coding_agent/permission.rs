//! A permission request of a coding agent: the text for the person, and the answer for the agent.
//!
//! Owns the choice among the agent's options: only "allow once" and "reject once". Many agents store "allow always" as a
//! rule for good, or change their mode by it, so Rouse itself remembers what is allowed for the run. A request that no
//! person can read, or without "allow once", is rejected. Pitfall: a title that hides the effect; the text shows the
//! whole input and every changed line.

use std::time::Duration;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, PermissionOption, PermissionOptionId, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome, ToolCall,
    ToolCallContent,
};
use rouse_core::approval::canonical;
use rouse_core::text::{escape_invisible, escape_line, hex_digits};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use super::task_record::title_of;

/// The most bytes of a text for the person.
const MAX_DETAILS: usize = 256 << 10;

/// The most bytes of an action as JSON. A larger one is not compared: a diff costs more than its result shows.
const MAX_ACTION: usize = 2 * MAX_DETAILS;

/// Time after which a diff becomes coarser, but stays correct.
const DIFF_LIMIT: Duration = Duration::from_millis(500);

/// Why a request is rejected.
const TOO_LARGE: &str = "is too large to be shown";

/// The decision about a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionDecision {
    AllowOnce,
    /// Also for the same action in the rest of the task.
    AllowForRun,
    Deny,
    /// The turn is cancelled.
    Cancel,
}

/// The hash of an action. An equal action has an equal hash, also in another process of the agent.
pub(super) fn action_hash(action: &ToolCall) -> String {
    let content = json!({
        "title": action.title,
        "kind": action.kind,
        "input": action.raw_input,
        "places": action.locations,
        "content": action.content,
    });
    hex_digits(&Sha256::digest(canonical(&content).as_bytes()))
}

/// The action in words for the person.
///
/// # Errors
/// Why the request is rejected without a person, as the predicate of a sentence.
pub(super) fn details_of(
    action: &ToolCall,
    options: &[PermissionOption],
) -> Result<String, &'static str> {
    if option_of(options, PermissionOptionKind::AllowOnce).is_none() {
        return Err("offers no way to allow this action once");
    }
    if json_text(action).len() > MAX_ACTION {
        return Err(TOO_LARGE);
    }
    let mut lines = vec![escape_invisible(&title_of(&action.title))];
    for place in &action.locations {
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(escape_line(&format!("{}{line}", place.path.display())));
    }
    if let Some(input) = action.raw_input.as_ref().filter(|input| !input.is_null()) {
        lines.push(format!("\nInput:\n{}", escape_invisible(&format!("{input:#}"))));
    }
    for content in &action.content {
        let text = match content {
            ToolCallContent::Diff(diff) => changes_of(diff),
            ToolCallContent::Content(content) => match &content.content {
                ContentBlock::Text(text) => escape_invisible(&text.text),
                other => other_content(other),
            },
            other => other_content(other),
        };
        lines.push(format!("\n{text}"));
    }
    let details = lines.join("\n");
    if details.len() > MAX_DETAILS { Err(TOO_LARGE) } else { Ok(details) }
}

/// Content without a text of its own, such as a link or a terminal.
fn other_content(content: &impl Serialize) -> String {
    format!("Also:\n{}", escape_invisible(&json_text(content)))
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("BUG: a message of the protocol is JSON")
}

/// The answer to a request.
pub(super) fn answer_of(
    options: &[PermissionOption],
    decision: PermissionDecision,
) -> RequestPermissionResponse {
    let option = match decision {
        PermissionDecision::AllowOnce | PermissionDecision::AllowForRun => {
            option_of(options, PermissionOptionKind::AllowOnce)
        }
        PermissionDecision::Deny => option_of(options, PermissionOptionKind::RejectOnce),
        PermissionDecision::Cancel => None,
    };
    let outcome = match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    };
    RequestPermissionResponse::new(outcome)
}

fn option_of(
    options: &[PermissionOption],
    kind: PermissionOptionKind,
) -> Option<&PermissionOptionId> {
    options.iter().find(|option| option.kind == kind).map(|option| &option.option_id)
}

/// A change of a file as a unified diff.
fn changes_of(diff: &Diff) -> String {
    let path = escape_line(&diff.path.display().to_string());
    let old = escape_invisible(diff.old_text.as_deref().unwrap_or_default());
    let new = escape_invisible(&diff.new_text);
    let before = if diff.old_text.is_some() { path.as_str() } else { "/dev/null" };
    let compared = TextDiff::configure().timeout(DIFF_LIMIT).diff_lines(&old, &new);
    let changes = compared.unified_diff().header(before, &path).to_string();
    if changes.is_empty() { format!("{path}: no changed line") } else { changes }
}
