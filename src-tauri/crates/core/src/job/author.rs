//! Who wrote what a job says to its runs: the keys `createdBy` and `messageBy` of the job format.
//!
//! An agent signs what it writes (`signature`); words that nobody signed are a person's. `createdBy` says who made the job
//! and never changes. `messageBy` says who wrote its words last, where that is not known from `createdBy`. Both are kept as
//! they were written, because other programs write there too; only an agent's signature means anything here.
//!
//! One could get it wrong by taking any edit of a person for their words: what they leave as it is stays an agent's.

use serde_json::{Value, json};

use super::{Job, Payload};
use crate::{JobId, RunId};

/// The key for who made a job.
pub const CREATED_BY: &str = "createdBy";
/// The key for who wrote its words last.
pub const MESSAGE_BY: &str = "messageBy";

/// What an agent writes under these keys: that it is one, and in which run, of which job.
#[must_use]
pub fn signature(run: &RunId, job: Option<&JobId>) -> Value {
    let mut signature = json!({ "kind": "agent", "runId": run.as_str() });
    if let Some(job) = job {
        signature["jobId"] = job.as_str().into();
    }
    signature
}

impl Job {
    /// Whether the message that its runs are given are a person's own words.
    #[must_use]
    pub fn is_message_by_person(&self) -> bool {
        let author = self.extra.get(MESSAGE_BY).or_else(|| self.extra.get(CREATED_BY));
        author.is_none_or(|author| author["kind"] != "agent")
    }

    /// Whether it reminds of something in a person's own words. A yes to a reminder that an agent has worded makes it no
    /// word of theirs, as with any other message.
    #[must_use]
    pub fn reminds_in_persons_words(&self) -> bool {
        matches!(self.payload, Payload::SystemEvent { .. }) && self.is_message_by_person()
    }

    /// Notes that a person wrote its words, where somebody else did before.
    pub(super) fn claim_message(&mut self) {
        if !self.is_message_by_person() {
            self.extra.insert(MESSAGE_BY.to_owned(), json!({ "kind": "person" }));
        }
    }
}

impl Payload {
    /// The words that somebody wrote for its runs.
    pub(super) fn message(&self) -> Option<&str> {
        match self {
            Self::SystemEvent { text, .. } => Some(text),
            Self::AgentTurn(turn) => Some(&turn.message),
            Self::ToolCall(_) => None,
        }
    }
}
