//! A call that a person tries a tool with.
//!
//! A trial is a run without a job: journalled, cancelled, parked for a question and found again like every other, and
//! carried out through the same gate, so that trying a tool is no second way to call one. It is not a throw-away job: a
//! job would be written, announced and deleted again for nothing, and what stands in a job is as good as a yes, while a
//! trial is to show what a run of a model would be asked. Trials have a lane of their own, because a person who tries
//! something does not wait for the end of a conversation. One could get it wrong by starting a trial over when Rouse was
//! stopped while it was at work: a person who wants it again presses again.

use rouse_core::{Run, RunId, RunTrigger};
use serde_json::{Value, json};

use crate::SchedulerError;
use crate::engine::Engine;
use crate::tick::new_run;

impl Engine {
    pub(crate) async fn try_tool(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<RunId, SchedulerError> {
        let now = self.clock.now();
        let payload = json!({ "kind": "trial", "tool": tool, "arguments": arguments });
        let job_name = format!("Trial of {tool}");
        let run =
            Run { job_name, session: None, ..new_run(None, RunTrigger::Manual, payload, now) };
        self.store.insert_run(&run, now).await?;
        let id = run.id.clone();
        self.enqueue(run, None);
        Ok(id)
    }
}
