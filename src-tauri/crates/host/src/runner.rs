//! Which work a run is: the one place where a payload meets the room that carries it out.

use std::sync::Arc;

use rouse_agent::AgentDriver;
use rouse_core::job::{Payload, WakeMode};
use rouse_core::tool::BoxFuture;
use rouse_core::{Job, Outcome, Run, RunTrigger};
use rouse_gateway::LiveText;
use rouse_scheduler::{MainSession, Runner};
use rouse_store::Store;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, HeartbeatConfig};
use crate::machine::AtWork;
use crate::models::ModelShelf;

/// Hands runs to the agent, or to nobody: a system event needs only its commit.
pub(crate) struct PayloadRunner {
    pub(crate) agent: AgentDriver,
    pub(crate) models: Arc<ModelShelf>,
    pub(crate) live: LiveText,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) at_work: AtWork,
}

impl Runner for PayloadRunner {
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome> {
        let (agent, models, live) =
            (self.agent.clone(), Arc::clone(&self.models), self.live.clone());
        let heartbeat = self.settings.borrow().heartbeat.clone();
        let at_work = self.at_work.one_more();
        Box::pin(async move {
            let _at_work = at_work;
            let outcome = match &job {
                Some(job) => work(&agent, (&models, &heartbeat), &run, job, &cancel).await,
                None => without_job(&agent, &models, &run, &heartbeat, &cancel).await,
            };
            live.clear(&run.id);
            outcome
        })
    }
}

async fn work(
    agent: &AgentDriver,
    (models, heartbeat): (&ModelShelf, &HeartbeatConfig),
    run: &Run,
    job: &Job,
    cancel: &CancellationToken,
) -> Outcome {
    match &job.payload {
        Payload::SystemEvent { text, .. } => {
            system_event(job, text, *models.available().borrow(), heartbeat.enabled)
        }
        Payload::AgentTurn(turn) => {
            let models = models.line_up(turn.model.as_deref(), &turn.fallbacks).await;
            agent.run_turn(run, job, turn, models, cancel).await
        }
        Payload::ToolCall(call) => agent.run_tool_call(run, job, call, cancel).await,
    }
}

async fn without_job(
    agent: &AgentDriver,
    models: &ModelShelf,
    run: &Run,
    heartbeat: &HeartbeatConfig,
    cancel: &CancellationToken,
) -> Outcome {
    if run.job_id.is_some() {
        return Outcome::failed(
            "Its job was deleted, or cannot be read, so it is not known what this run has to do.",
        );
    }
    if let (true, Some(tool)) = (run.is_trial(), run.payload["tool"].as_str()) {
        return agent.run_trial(run, tool, &run.payload["arguments"], cancel).await;
    }
    let agent = agent.clone().telling_main_of(heartbeat.skills.clone());
    if let (RunTrigger::Chat, Some(text)) = (run.trigger, run.payload["text"].as_str()) {
        return agent.run_chat_turn(run, text, models.line_up(None, &[]).await, cancel).await;
    }
    let models = models.line_up(heartbeat.model.as_deref(), &[]).await;
    agent.run_main_turn(run, models, heartbeat.prompt.as_deref(), cancel).await
}

/// The line itself is queued together with the outcome. Without a model nobody would say it, so a line that should be
/// heard now is a reminder: its result makes it worth a notification. So is one that waits for a heartbeat which is
/// switched off.
fn system_event(job: &Job, text: &str, has_model: bool, beats: bool) -> Outcome {
    let reminds = match job.wake_mode {
        WakeMode::Now => !has_model,
        WakeMode::NextHeartbeat => !beats,
    };
    Outcome { result: reminds.then(|| Value::String(text.to_owned())), ..Outcome::succeeded(text) }
}

/// What the heartbeat asks before it beats.
pub(crate) struct Main {
    pub(crate) store: Store,
    pub(crate) agent: AgentDriver,
}

impl MainSession for Main {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            match self.store.pending_system_events(1).await {
                Ok(events) if events.is_empty() => self.agent.heartbeat_says_something().await,
                Ok(_) => true,
                // The turn itself will say what is wrong with the store.
                Err(_) => true,
            }
        })
    }
}
