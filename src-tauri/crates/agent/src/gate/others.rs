//! What other runs have asked and nobody has answered yet.
//!
//! Owns which of those a run minds before it asks as well. A run of a job minds those of its job. Beside a job's there are
//! those of beats, and of what a person has begun and looks after themselves: a beat minds the former. One could get it wrong
//! by taking all that belong to no job for one heap: a few trials that nobody has answered would keep the heartbeat silent.

use rouse_core::RunTrigger;
use rouse_core::approval::Approval;
use rouse_core::tool::ToolContext;
use rouse_store::StoreError;

use super::Gate;

impl Gate {
    /// The open questions of other runs that count for this one.
    pub(super) async fn open_in_other_runs(
        &self,
        context: &ToolContext,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut open = self.store.pending_approvals().await?;
        open.retain(|asked| asked.job_id == context.job_id && asked.run_id != context.run_id);
        if context.job_id.is_some() {
            return Ok(open);
        }
        let mut of_beats = Vec::new();
        for asked in open {
            let run = self.store.run(&asked.run_id).await?;
            if run.is_some_and(|run| run.trigger == RunTrigger::Heartbeat) {
                of_beats.push(asked);
            }
        }
        Ok(of_beats)
    }
}
