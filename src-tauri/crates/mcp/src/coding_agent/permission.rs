//! A permission request of a coding agent: the text for the person, and the answer for the agent.
//!
//! Owns the choice among the agent's options: only "allow once" and "reject once". Many agents store "allow always" as a
//! rule for good, or change their mode by it, so Rouse itself remembers what is allowed for the run. A request that no
//! person can read, or without "allow once", is rejected. Pitfall: a title that hides the effect; the text shows the
//! whole input and every changed line.

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, PermissionOption, PermissionOptionId, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome, ToolCall,
    ToolCallContent,
};
use rouse_core::approval::canonical;
use rouse_core::text::{escape_invisible, escape_line, hex_digits};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use super::task_record::title_of;

/// The most bytes of a text for the person.
const MAX_DETAILS: usize = 256 << 10;

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
    let mut lines = vec![escape_invisible(&title_of(&action.title))];
    for place in &action.locations {
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(escape_line(&format!("{}{line}", place.path.display())));
    }
    if let Some(input) = action.raw_input.as_ref().filter(|input| !input.is_null()) {
        lines.push(format!("\nInput:\n{}", escape_invisible(&format!("{input:#}"))));
    }
    for content in &action.content {
        match content {
            ToolCallContent::Diff(diff) => lines.push(format!("\n{}", changes_of(diff))),
            ToolCallContent::Content(content) => {
                if let ContentBlock::Text(text) = &content.content {
                    lines.push(format!("\n{}", escape_invisible(&text.text)));
                }
            }
            _ => {}
        }
    }
    let details = lines.join("\n");
    if details.len() > MAX_DETAILS {
        return Err("is too large to be shown");
    }
    Ok(details)
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
    TextDiff::from_lines(&old, &new).unified_diff().header(before, &path).to_string()
}
