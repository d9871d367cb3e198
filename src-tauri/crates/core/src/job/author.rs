//! Authors of a job's message: the keys `createdBy` and `messageBy`.
//!
//! An agent signs messages (`signature`); an unsigned message is a person's. `createdBy` never changes. `messageBy` is
//! the last author, if different from `createdBy`. Other programs write any value here; only an agent's signature has a
//! meaning.
//! Pitfall: an edit of other fields by a person leaves the message an agent's.

use serde_json::{Value, json};

use super::document::Job;
use super::payload::Payload;
use crate::{JobId, RunId};

/// The key of the creator.
pub const CREATED_BY: &str = "createdBy";
/// The key of the message's last author.
pub const MESSAGE_BY: &str = "messageBy";

/// The signature of an agent: the run, and the job if any.
#[must_use]
pub fn signature(run: &RunId, job: Option<&JobId>) -> Value {
    let mut signature = json!({ "kind": "agent", "runId": run.as_str() });
    if let Some(job) = job {
        signature["jobId"] = job.as_str().into();
    }
    signature
}

/// The signature of a program outside Rouse, by the name that the program claims.
#[must_use]
pub fn client_signature(name: &str) -> Value {
    json!({ "kind": "agent", "client": name })
}

impl Job {
    /// Whether a person wrote the message.
    #[must_use]
    pub fn is_message_by_person(&self) -> bool {
        let author = self.message_by.as_ref().or(self.created_by.as_ref());
        author.is_none_or(|author| author["kind"] != "agent")
    }

    /// Whether the job is a reminder with a person's text. The approval of an agent's reminder does not change the
    /// author.
    #[must_use]
    pub fn reminds_in_persons_words(&self) -> bool {
        matches!(self.payload, Payload::SystemEvent { .. }) && self.is_message_by_person()
    }

    /// Records a person as the author of the message, after an agent.
    pub(super) fn claim_message(&mut self) {
        if !self.is_message_by_person() {
            self.message_by = Some(json!({ "kind": "person" }));
        }
    }
}

impl Payload {
    /// The message for the runs.
    pub(super) fn message(&self) -> Option<&str> {
        match self {
            Self::SystemEvent { text, .. } => Some(text),
            Self::AgentTurn(turn) => Some(&turn.message),
            Self::ToolCall(_) => None,
        }
    }
}
