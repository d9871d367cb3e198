//! Dispatches a run by its payload to the agent.

use std::sync::Arc;

use rouse_agent::AgentDriver;
use rouse_core::job::{Payload, WakeMode};
use rouse_core::tool::BoxFuture;
use rouse_core::{Job, Outcome, Run, RunTrigger};
use rouse_gateway::{LiveProgress, LiveText};
use rouse_scheduler::{MainSession, Runner};
use rouse_store::Store;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use rouse_core::settings::HeartbeatSection;

use crate::config::Config;
use crate::machine::RunCounter;
use crate::models::ModelCatalog;

/// Runs payloads in the agent. A system event needs no work beyond its commit.
pub(crate) struct PayloadRunner {
    pub(crate) agent: AgentDriver,
    pub(crate) models: Arc<ModelCatalog>,
    pub(crate) live: LiveText,
    pub(crate) live_progress: LiveProgress,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) run_counter: RunCounter,
}

impl Runner for PayloadRunner {
    fn run(
        &self,
        run: Run,
        job: Option<Job>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Outcome> {
        let (agent, models) = (self.agent.clone(), Arc::clone(&self.models));
        let (live, live_progress) = (self.live.clone(), self.live_progress.clone());
        let heartbeat = self.settings.borrow().heartbeat.clone();
        let counted = self.run_counter.count_run();
        Box::pin(async move {
            let _counted = counted;
            let outcome = match &job {
                Some(job) => run_payload(&agent, (&models, &heartbeat), &run, job, &cancel).await,
                None => run_without_job(&agent, &models, &run, &heartbeat, &cancel).await,
            };
            live.clear(&run.id);
            live_progress.clear(&run.id);
            outcome
        })
    }
}

async fn run_payload(
    agent: &AgentDriver,
    (models, heartbeat): (&ModelCatalog, &HeartbeatSection),
    run: &Run,
    job: &Job,
    cancel: &CancellationToken,
) -> Outcome {
    match &job.payload {
        Payload::SystemEvent { text, .. } => {
            system_event(job, text, *models.available().borrow(), heartbeat.enabled)
        }
        Payload::AgentTurn(turn) => {
            if let Some(coding_agent) = &turn.agent {
                return agent.run_delegated_turn(run, job, turn, coding_agent, cancel).await;
            }
            let models = models.run_models(turn.model.as_deref(), &turn.fallbacks).await;
            agent.run_turn(run, job, turn, models, cancel).await
        }
        Payload::ToolCall(call) => agent.run_tool_call(run, job, call, cancel).await,
    }
}

async fn run_without_job(
    agent: &AgentDriver,
    models: &ModelCatalog,
    run: &Run,
    heartbeat: &HeartbeatSection,
    cancel: &CancellationToken,
) -> Outcome {
    if run.job_id.is_some() {
        return Outcome::failed(
            "The job of this run was deleted or cannot be read, so the run has no task.",
        );
    }
    if let (true, Some(tool)) = (run.is_trial(), run.payload["tool"].as_str()) {
        return agent.run_tool_trial(run, tool, &run.payload["arguments"], cancel).await;
    }
    let agent = agent.clone().with_main_skills(heartbeat.skills.clone());
    if let (RunTrigger::Chat, Some(text)) = (run.trigger, run.payload["text"].as_str()) {
        return agent.run_chat_turn(run, text, models.run_models(None, &[]).await, cancel).await;
    }
    let models = models.run_models(heartbeat.model.as_deref(), &[]).await;
    agent.run_heartbeat(run, models, heartbeat.prompt.as_deref(), cancel).await
}

/// The outcome of a system event; the event is queued in the same transaction.
///
/// Without a model, or with the heartbeat off, no turn would show the text, so the result becomes a notification.
fn system_event(job: &Job, text: &str, has_model: bool, is_heartbeat_on: bool) -> Outcome {
    let is_reminder = match job.wake_mode {
        WakeMode::Now => !has_model,
        WakeMode::NextHeartbeat => !is_heartbeat_on,
    };
    Outcome {
        result: is_reminder.then(|| Value::String(text.to_owned())),
        ..Outcome::succeeded(text)
    }
}

/// Whether the main session has work for a heartbeat.
pub(crate) struct MainSessionWork {
    pub(crate) store: Store,
    pub(crate) agent: AgentDriver,
}

impl MainSession for MainSessionWork {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            match self.store.pending_system_events(1).await {
                Ok(events) if events.is_empty() => self.agent.has_heartbeat_tasks().await,
                Ok(_) => true,
                // The turn itself reports the store error.
                Err(_) => true,
            }
        })
    }
}
