//! What handlers may reach, handed over by the composition root.

use std::path::PathBuf;
use std::sync::Arc;

use rouse_agent::{Gate, SkillShelf};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_scheduler::SchedulerHandle;
use rouse_store::Store;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::error::RpcError;
use crate::events::EventBus;
use crate::live::LiveText;
use crate::screens::Screens;
use crate::wire::{
    BackupView, BackupsView, BudgetConfigView, ConfigView, EngineMode, FailingModel, ModelTestView,
    ModelsListParams, ModelsListResult, ModelsTestParams, NotificationStatus, ProvidersListResult,
    PullView, SecretRemoved, SecretSetParams, SecretView, SecretsListResult,
};

/// The handles that handlers work with.
pub struct Context {
    /// Rows.
    pub store: Store,
    /// Jobs and runs in motion.
    pub scheduler: SchedulerHandle,
    /// Wall time and zone.
    pub clock: Arc<dyn Clock>,
    /// The settings file.
    pub settings: Arc<dyn Settings>,
    /// The models at hand.
    pub models: Arc<dyn Models>,
    /// The stored secrets.
    pub secrets: Arc<dyn Secrets>,
    /// The backups of the data directory.
    pub backups: Arc<dyn Backups>,
    /// The skills there are.
    pub skills: SkillShelf,
    /// The tools at hand, behind their gate.
    pub gate: Arc<Gate>,
    /// The event stream.
    pub events: EventBus,
    /// Words of model turns that are going.
    pub live: LiveText,
    /// Who shows notifications for this engine.
    pub screens: Screens,
    /// Why the newest notification was not shown, in words; none since one was.
    pub unshown: watch::Receiver<Option<String>>,
    /// Wakes the outbox.
    pub outbox: Arc<Notify>,
    /// Told after every answer: what it took may be given back.
    pub worked: Arc<Notify>,
    /// Facts about this process.
    pub engine: Engine,
}

/// Facts about this process.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The app or `rouse serve`.
    pub mode: EngineMode,
    /// When it started.
    pub started_at: UnixMs,
    /// The port of its server.
    pub port: u16,
    /// Where the data lives.
    pub home: PathBuf,
    /// The folder of the file tools. The settings may name another one, for the next start.
    pub workspace: PathBuf,
    /// Whether it can show notifications itself.
    pub notifications: NotificationStatus,
    /// Why its log cannot be written, in words; none while it can.
    pub log_problem: fn() -> Option<String>,
    /// What this start found wrong, in words: a lost log, a low limit of the system.
    pub start_problem: Option<String>,
    /// Connections that may be open at once.
    pub most_connections: usize,
}

/// The settings file, kept by the composition root.
pub trait Settings: Send + Sync {
    /// The settings in force, and what is wrong with them as things stand. Looks at files, beside the threads that answer.
    fn view(self: Arc<Self>) -> BoxFuture<'static, ConfigView>;
    /// What all runs together may spend on a day.
    fn budget(&self) -> BudgetConfigView;
    /// Changes the file and puts the change into force. Looks at files, beside the threads that answer.
    fn patch(
        self: Arc<Self>,
        patch: Value,
        expected_revision: Option<String>,
    ) -> BoxFuture<'static, Result<ConfigView, RpcError>>;
}

/// The models at hand, kept by the composition root.
pub trait Models: Send + Sync {
    /// All of them; looked for again when `refresh`.
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult>;
    /// The one in use, for people.
    fn active_label(&self) -> Option<String>;
    /// Whether the one in use was never asked, so that nobody knows whether it answers.
    fn is_untried(&self) -> bool;
    /// That the settings name a provider that there is not, so that nobody answers until they are mended.
    fn nobody(&self) -> Option<String>;
    /// Why a run that wishes for this model would not be answered by it, as far as is known without looking again.
    fn doubt(&self, wish: Option<&str>) -> Option<String>;
    /// Those that did not answer when they were last asked.
    fn failing(&self) -> Vec<FailingModel>;
    /// The models of a provider, as its own list has them.
    fn catalog(
        &self,
        wanted: ModelsListParams,
    ) -> BoxFuture<'_, Result<ModelsListResult, RpcError>>;
    /// Tests a model and keeps the verdict.
    fn test(&self, wanted: ModelsTestParams) -> BoxFuture<'_, Result<ModelTestView, RpcError>>;
    /// Whether Ollama runs on this computer without a model.
    fn ollama_needs_model(&self) -> BoxFuture<'_, bool>;
    /// Starts a pull into Ollama, or joins the one of this model.
    ///
    /// # Errors
    /// While another model is being pulled.
    fn pull(self: Arc<Self>, model: String) -> Result<PullView, RpcError>;
    /// The present pull, or the last one.
    fn pull_view(&self) -> Option<PullView>;
    /// Cancels the pull. Returns whether there was one.
    fn cancel_pull(&self) -> bool;
}

/// The stored secrets, kept by the composition root. Nothing answers with a value.
pub trait Secrets: Send + Sync {
    /// Names and hosts.
    fn list(&self) -> BoxFuture<'_, Result<SecretsListResult, RpcError>>;
    /// Stores one, or changes it.
    fn set(&self, params: SecretSetParams) -> BoxFuture<'_, Result<SecretView, RpcError>>;
    /// Forgets one.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SecretRemoved, RpcError>>;
}

/// The backups of the data directory, kept by the composition root.
pub trait Backups: Send + Sync {
    /// All of them.
    fn list(&self) -> BoxFuture<'_, Result<BackupsView, RpcError>>;
    /// Makes one now.
    fn create(&self) -> BoxFuture<'_, Result<BackupView, RpcError>>;
}
