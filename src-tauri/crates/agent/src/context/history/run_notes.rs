//! Notes for runs of the main session that gave no answer, or only part of one.
//!
//! Owns which runs get a note: runs that a person has begun, and runs that wait for an approval. A heartbeat gets none;
//! its task comes again with the next heartbeat. A note names the tool of the approval and none of its arguments, which
//! may be untrusted. Pitfall: taking the tool from the transcript, where a model can ask for an unknown tool with any text
//! as the name.

use std::collections::HashMap;

use rouse_core::{RunId, RunState, RunTrigger};
use rouse_store::{Store, StoreError, StoredMessage};

/// The progress of a run that gets a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunProgress {
    /// Waits for an approval of calls of these tools.
    AwaitingApproval(Vec<String>),
    Unfinished,
    Succeeded,
    Failed,
}

/// The progress of the runs among `stored` that get a note.
pub(super) async fn progress_of_runs(
    store: &Store,
    stored: &[StoredMessage],
) -> Result<HashMap<RunId, RunProgress>, StoreError> {
    let mut runs: Vec<RunId> = stored.iter().filter_map(|stored| stored.run_id.clone()).collect();
    runs.dedup();
    let states = store.run_states(&runs).await?;
    let mut pending: HashMap<RunId, Vec<String>> = HashMap::new();
    for approval in store.pending_approvals().await? {
        let tools = pending.entry(approval.run_id).or_default();
        if !tools.contains(&approval.tool) {
            tools.push(approval.tool);
        }
    }
    let progress = |(run, (trigger, state))| {
        let progress = match pending.remove(&run) {
            Some(tools) => RunProgress::AwaitingApproval(tools),
            None if trigger == RunTrigger::Chat => RunProgress::of(state),
            None => return None,
        };
        Some((run, progress))
    };
    Ok(states.into_iter().filter_map(progress).collect())
}

impl RunProgress {
    const fn of(state: RunState) -> Self {
        match state {
            RunState::Succeeded | RunState::NothingToReport => Self::Succeeded,
            _ if state.is_final() => Self::Failed,
            _ => Self::Unfinished,
        }
    }

    /// The note after the last messages of the run.
    pub(super) fn note(&self, has_answered: bool) -> Option<String> {
        let note = match (self, has_answered) {
            (Self::AwaitingApproval(tools), _) => {
                let tools = tools.join(" and ");
                return Some(format!(
                    "(I requested approval for {tools} and am waiting for the decision.)"
                ));
            }
            (Self::Succeeded, true) => return None,
            (Self::Unfinished, _) => "(I have not finished this yet.)",
            (Self::Failed, true) => "(I did not finish this.)",
            (Self::Failed | Self::Succeeded, false) => "(I gave no answer to this.)",
        };
        Some(note.to_owned())
    }
}

/// The note after earlier messages of a run that continues after other runs.
pub(super) const CONTINUED_LATER: &str = "(I continued this later.)";
