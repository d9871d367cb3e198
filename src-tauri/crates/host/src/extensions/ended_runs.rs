//! The end of coding agents that wait for a person, when their run ends without an answer.
//!
//! Owns the look after each change of a run. Reads the store only while an agent waits. Pitfall: a run that is cancelled
//! while it is parked; nothing else would end its agent.

use std::sync::Arc;

use rouse_mcp::CodingAgents;
use rouse_store::Store;
use tokio::sync::Notify;

/// The watch over the runs of waiting agents.
pub(crate) struct EndedRuns {
    pub(crate) agents: CodingAgents,
    pub(crate) store: Store,
    /// Notified after every change of a run.
    pub(crate) changed: Arc<Notify>,
}

impl EndedRuns {
    /// Ends agents as long as the returned future runs.
    pub(crate) async fn watch(self) {
        loop {
            self.changed.notified().await;
            for run in self.agents.waiting_runs() {
                match self.store.run(&run).await {
                    Ok(Some(found)) if !found.state.is_final() => {}
                    Ok(_) => self.agents.end_run(&run).await,
                    Err(error) => {
                        tracing::warn!(%error, "the run of a coding agent cannot be read")
                    }
                }
            }
        }
    }
}
