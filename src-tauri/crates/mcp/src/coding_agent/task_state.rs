//! The state of a task that waits for a person, stored with its request.
//!
//! Owns the text in the approval. A restarted engine knows no session but this text.

use serde::{Deserialize, Serialize};

/// A task that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskState {
    /// The key of the session among the waiting tasks of this engine.
    pub(super) token: String,
    /// The session at the agent.
    pub(super) session: String,
    /// Whether another process of the agent can continue the session.
    pub(super) can_load: bool,
    /// The title of the action that waits.
    pub(super) action: String,
    /// The titles of the actions until then.
    pub(super) steps: Vec<String>,
    /// The hashes of the actions that are allowed for the rest of the task.
    #[serde(default)]
    pub(super) allowed: Vec<String>,
}

impl TaskState {
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("BUG: a state is JSON")
    }

    /// The state in the text of an approval; none for a text that no task wrote.
    pub(super) fn parse(text: Option<&str>) -> Option<Self> {
        // silent-ok: an unreadable state counts as a lost session, which the task reports.
        serde_json::from_str(text?).ok()
    }
}
