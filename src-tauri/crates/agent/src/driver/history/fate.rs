//! What is told in the model's place of a run of the main session that it said nothing in, or not to the end.
//!
//! Owns which runs are told like that: those that a person has begun by writing, whatever came of them, and any that waits
//! for a person. What a beat was about comes again with the next one. A note names the tool that is asked about, and nothing
//! that the call was made with, which may come from outside. One could get it wrong by taking the tool from the transcript:
//! a model can ask for one that there is not, in anybody's words.

use std::collections::HashMap;

use rouse_core::message::Message;
use rouse_core::{RunId, RunState, RunTrigger};
use rouse_store::{Store, StoreError, StoredMessage};

/// What became of a run that is told in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits for a person's yes to calls of these tools.
    Asks(Vec<String>),
    /// It is not over.
    IsOpen,
    /// It came to its end.
    Answered,
    /// It ended before that.
    Failed,
}

/// What became of the runs of these messages that are told in any case.
pub(super) async fn fates_of(
    store: &Store,
    stored: &[StoredMessage],
) -> Result<HashMap<RunId, Fate>, StoreError> {
    let mut runs: Vec<RunId> = stored.iter().filter_map(|stored| stored.run_id.clone()).collect();
    runs.dedup();
    let standing = store.standing_of(&runs).await?;
    let mut asked: HashMap<RunId, Vec<String>> = HashMap::new();
    for question in store.pending_approvals().await? {
        let tools = asked.entry(question.run_id).or_default();
        if !tools.contains(&question.tool) {
            tools.push(question.tool);
        }
    }
    let fate = |(run, (trigger, state))| {
        let fate = match asked.remove(&run) {
            Some(tools) => Fate::Asks(tools),
            None if trigger == RunTrigger::Chat => Fate::of(state),
            None => return None,
        };
        Some((run, fate))
    };
    Ok(standing.into_iter().filter_map(fate).collect())
}

impl Fate {
    const fn of(state: RunState) -> Self {
        match state {
            RunState::Succeeded | RunState::NothingToReport => Self::Answered,
            _ if state.is_final() => Self::Failed,
            _ => Self::IsOpen,
        }
    }

    /// What is told behind the last messages of the run, in which the model `has_answered` something or nothing.
    pub(super) fn note(&self, has_answered: bool) -> Option<String> {
        let words = match (self, has_answered) {
            (Self::Asks(tools), _) => {
                let tools = tools.join(" and ");
                return Some(format!("(I asked for the person's yes to {tools} and wait for it.)"));
            }
            (Self::Answered, true) => return None,
            (Self::IsOpen, _) => "(I am not at the end of this yet.)",
            (Self::Failed, true) => "(I did not get to the end of this.)",
            (Self::Failed | Self::Answered, false) => "(No answer of mine came of this.)",
        };
        Some(words.to_owned())
    }
}

/// What is told where a run was begun that goes on after others have spoken; nothing where it was not begun.
pub(super) fn note_between(said: &[Message]) -> Option<String> {
    (!said.is_empty()).then(|| "(I went on with this later.)".to_owned())
}
