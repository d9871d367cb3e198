//! The dependencies of the handlers, from the composition root.

use std::path::PathBuf;
use std::sync::Arc;

use rouse_agent::{Gate, SkillInstaller, SkillLibrary};
use rouse_core::channel::{ChannelName, SharedDirectory};
use rouse_core::extension::package::{ExtensionSource, FileChange, PackagePlan};
use rouse_core::extension::{
    ExtensionBook, ExtensionName, PinnedTool, ServerDefinition, ServerStatus, ServerUnavailable,
    ToolAccess, ToolBuilds,
};
use rouse_core::routines::Routines;
use rouse_core::settings::BudgetSection;
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_scheduler::SchedulerHandle;
use rouse_store::Store;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::auth::{Devices, McpTokens};
use crate::desktop_apps::DesktopApps;
use crate::error::RpcError;
use crate::events::EventBus;
use crate::live_progress::LiveProgress;
use crate::live_text::LiveText;
use crate::registries::Registries;
use crate::sign_ins::SignIns;
use crate::signed_webhook::{SignatureError, SignedMessage};
use crate::wire::{
    BackupView, BackupsView, ConfigView, EngineMode, FailingModel, ModelTestView, ModelsListParams,
    ModelsListResult, ModelsTestParams, NotificationStatus, PairingState, PairingView,
    ProvidersListResult, PullView, ReceivingView, RefusedToolView, SecretRemoved, SecretSetParams,
    SecretView, SecretsListResult,
};

/// The dependencies of all handlers.
pub struct Context {
    /// The database.
    pub store: Store,
    /// The scheduler.
    pub scheduler: SchedulerHandle,
    /// The clock and its zones.
    pub clock: Arc<dyn Clock>,
    /// The settings file.
    pub settings: Arc<dyn SettingsAccess>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// The stored secrets.
    pub secrets: Arc<dyn Secrets>,
    /// The installed extensions and their servers.
    pub extensions: Arc<dyn Extensions>,
    /// The built tools.
    pub tool_builds: Arc<dyn ToolBuilds>,
    /// The registries of servers and skills.
    pub registries: Arc<dyn Registries>,
    /// The jobs, for programs outside Rouse.
    pub routines: Arc<dyn Routines>,
    /// The tokens of the MCP server.
    pub mcp_tokens: Arc<McpTokens>,
    /// The paired browsers and phones.
    pub devices: Arc<Devices>,
    /// The backups of the data directory.
    pub backups: Arc<dyn Backups>,
    /// The skills.
    pub skills: SkillLibrary,
    /// The installation of skills of other authors.
    pub skill_installer: SkillInstaller,
    /// The gate, with the tools.
    pub gate: Arc<Gate>,
    /// The event stream.
    pub events: EventBus,
    /// Live text of active model calls.
    pub live_text: LiveText,
    /// Progress of running calls.
    pub live_progress: LiveProgress,
    /// The attached desktop apps.
    pub desktop_apps: DesktopApps,
    /// Error of the newest notification; none after success.
    pub notification_error: watch::Receiver<Option<String>>,
    /// The channels and recipients of messages.
    pub channels: SharedDirectory,
    /// The checks and pairings of channels.
    pub channel_access: Arc<dyn ChannelAccess>,
    /// Wakes the outbox.
    pub outbox: Arc<Notify>,
    /// Notified after every call. The host releases memory when activity stops.
    pub activity: Arc<Notify>,
    /// Facts about this process.
    pub engine: EngineInfo,
}

/// Facts about this process.
#[derive(Debug, Clone)]
pub struct EngineInfo {
    /// The host: the app or `rouse serve`.
    pub mode: EngineMode,
    /// Start of the process.
    pub started_at: UnixMs,
    /// Port of the server.
    pub port: u16,
    /// Names of the settings (`gateway.names`) under which a proxy forwards requests to this port.
    pub names: Vec<String>,
    /// Data directory.
    pub home: PathBuf,
    /// Folder of the file tools since the start; the settings may name another for the next start.
    pub workspace: PathBuf,
    /// Whether this process can show notifications.
    pub notifications: NotificationStatus,
    /// Error of the log; none while writable.
    pub log_problem: fn() -> Option<String>,
    /// Problem found at the start, such as a lost log or a low system limit.
    pub start_problem: Option<String>,
    /// Maximum open connections.
    pub max_connections: usize,
}

/// Access to the settings file.
pub trait SettingsAccess: Send + Sync {
    /// The settings in effect and their problems. Reads files on other threads than those of the runtime.
    fn view(self: Arc<Self>) -> BoxFuture<'static, ConfigView>;
    /// The daily budget of all runs.
    fn budget(&self) -> BudgetSection;
    /// Changes the file and applies the change. Reads files on other threads than those of the runtime.
    fn patch(
        self: Arc<Self>,
        patch: Value,
        expected_revision: Option<String>,
    ) -> BoxFuture<'static, Result<ConfigView, RpcError>>;
}

/// Access to the models.
pub trait Models: Send + Sync {
    /// All providers; detected again if `refresh`.
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult>;
    /// Display name of the active model.
    fn active_label(&self) -> Option<String>;
    /// Whether the active model has had no request so far.
    fn is_untested(&self) -> bool;
    /// Error if the settings name a missing provider.
    fn missing_provider(&self) -> Option<String>;
    /// Known reason why this model would not answer a run.
    fn model_warning(&self, wish: Option<&str>) -> Option<String>;
    /// The context window of this model in tokens; none if the model reports none.
    fn context_tokens(&self, wish: Option<&str>) -> Option<u32>;
    /// Models with a failed last request.
    fn failing(&self) -> Vec<FailingModel>;
    /// The models that a provider lists.
    fn catalog(
        &self,
        params: ModelsListParams,
    ) -> BoxFuture<'_, Result<ModelsListResult, RpcError>>;
    /// Tests a model and stores the verdict.
    fn test(&self, params: ModelsTestParams) -> BoxFuture<'_, Result<ModelTestView, RpcError>>;
    /// Whether a local Ollama has no model.
    fn ollama_needs_model(&self) -> BoxFuture<'_, bool>;
    /// Starts a pull into Ollama, or returns the active pull of this model.
    ///
    /// # Errors
    /// During a pull of another model.
    fn pull(self: Arc<Self>, model: String) -> Result<PullView, RpcError>;
    /// The active or last pull.
    fn pull_view(&self) -> Option<PullView>;
    /// Cancels the active pull. Returns false without one.
    fn cancel_pull(&self) -> bool;
}

/// Access to stored secrets. Never returns a value.
pub trait Secrets: Send + Sync {
    /// Names and hosts of all secrets.
    fn list(&self) -> BoxFuture<'_, Result<SecretsListResult, RpcError>>;
    /// Adds or updates a secret.
    fn set(&self, params: SecretSetParams) -> BoxFuture<'_, Result<SecretView, RpcError>>;
    /// Removes a secret.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SecretRemoved, RpcError>>;
    /// Stores the signing key of a webhook. No call can receive the value.
    fn set_signing_key<'a>(
        &'a self,
        name: &'a str,
        key: String,
    ) -> BoxFuture<'a, Result<SecretView, RpcError>>;
    /// Checks a signed message with the signing key `name`. A missing key is a mismatch, found in the same time.
    fn check_signature<'a>(
        &'a self,
        name: &'a str,
        message: SignedMessage,
    ) -> BoxFuture<'a, Result<(), SignatureError>>;
}

/// Access to the installed extensions and their servers. Never judges a consent.
pub trait Extensions: Send + Sync {
    /// The installed extensions.
    fn book(&self) -> &dyn ExtensionBook;
    /// The sign-ins at servers over HTTP.
    fn sign_ins(&self) -> &dyn SignIns;
    /// The state of a server.
    fn status(&self, name: &ExtensionName) -> ServerStatus;
    /// The definition with the absolute path of its program.
    ///
    /// # Errors
    /// The program does not exist, or no start accepts one of the folders.
    fn resolve(
        &self,
        server: ServerDefinition,
    ) -> BoxFuture<'_, Result<ServerDefinition, RpcError>>;
    /// Stores an accepted definition, and stops a server with another definition.
    fn install<'a>(
        &'a self,
        name: &'a ExtensionName,
        server: ServerDefinition,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>>;
    /// The plan of an installation from a package. Downloads and starts nothing.
    ///
    /// # Errors
    /// The source names no exact content, a program for the installation is missing, or no start accepts one of the
    /// folders.
    fn plan_package<'a>(
        &'a self,
        name: &'a ExtensionName,
        source: ExtensionSource,
        draft: ServerDefinition,
    ) -> BoxFuture<'a, Result<PlannedPackage, RpcError>>;
    /// Installs the package of an accepted page. The installed files stay in use until the new ones are complete.
    ///
    /// # Errors
    /// The installation failed, was cancelled or took too long. Nothing was changed.
    fn install_package<'a>(
        &'a self,
        name: &'a ExtensionName,
        package: PlannedPackage,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>>;
    /// What the installation of this extension does; none without an installation.
    fn install_step(&self, name: &ExtensionName) -> Option<String>;
    /// Cancels the installation of this extension. Returns false without an installation.
    fn cancel_install(&self, name: &ExtensionName) -> bool;
    /// Compares the files of a package with the accepted files.
    ///
    /// # Errors
    /// Why the files cannot be compared, as sentences.
    fn verify_files<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Vec<FileChange>, String>>;
    /// Starts the server and lists its tools. The book records the listing.
    fn inspect<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<ServerInspection, ServerUnavailable>>;
    /// Adds or replaces accepted tools.
    ///
    /// # Errors
    /// There is no such extension, or the file cannot be written.
    fn accept_tools(&self, name: &ExtensionName, tools: Vec<PinnedTool>) -> Result<(), RpcError>;
    /// Chooses how calls of an accepted tool are judged. Returns false without a change.
    ///
    /// # Errors
    /// There is no such tool, or the file cannot be written.
    fn set_access(
        &self,
        name: &ExtensionName,
        tool: &str,
        access: ToolAccess,
    ) -> Result<bool, RpcError>;
    /// Enables or disables an extension; stops the server of a disabled one. Returns false without a change.
    fn set_enabled<'a>(
        &'a self,
        name: &'a ExtensionName,
        is_enabled: bool,
    ) -> BoxFuture<'a, Result<bool, RpcError>>;
    /// Removes an extension with its private folder. Returns what the person must delete, as a sentence.
    fn remove<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<String>, RpcError>>;
    /// Stops the server. The next use starts it.
    fn stop<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, ()>;
}

/// A package with its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPackage {
    /// The definition as the person wrote it.
    pub draft: ServerDefinition,
    /// The definition with the start command of the package.
    pub server: ServerDefinition,
    /// The plan.
    pub plan: PackagePlan,
}

/// The instructions and the refused tools of a listed server.
#[derive(Debug, Clone, Default)]
pub struct ServerInspection {
    /// Instructions for a model.
    pub instructions: Option<String>,
    /// Listed tools that can never be offered.
    pub refused: Vec<RefusedToolView>,
}

/// Access to the backups of the data directory.
pub trait Backups: Send + Sync {
    /// All backups.
    fn list(&self) -> BoxFuture<'_, Result<BackupsView, RpcError>>;
    /// Creates a backup.
    fn create(&self) -> BoxFuture<'_, Result<BackupView, RpcError>>;
}

/// Access to the channels: their checks, what they receive, and the pairing of chats.
pub trait ChannelAccess: Send + Sync {
    /// Why the channel cannot send now, for example for a missing secret: cause and remedy as sentences. Asks no service.
    fn problem<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Option<String>>;
    /// As [`Self::problem`]; also asks the service whether messages would be taken.
    fn check<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Option<String>>;
    /// How messages from the channel arrive; none for a channel that only sends.
    fn receiving(&self, name: &ChannelName) -> Option<ReceivingView>;
    /// Starts a pairing with a new one-time link; an earlier link of the channel is no longer valid.
    ///
    /// # Errors
    /// The channel pairs no chats, or its service does not answer.
    fn pair<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Result<PairingView, RpcError>>;
    /// The newest pairing of the channel, as soon as its state is not `known`; at the latest after 25 seconds. None without a
    /// pairing.
    fn pairing<'a>(
        &'a self,
        name: &'a ChannelName,
        known: Option<PairingState>,
    ) -> BoxFuture<'a, Option<PairingView>>;
    /// Accepts or refuses the person who opened the link.
    ///
    /// # Errors
    /// Nobody waits for the confirmation.
    fn confirm_pairing<'a>(
        &'a self,
        name: &'a ChannelName,
        is_accepted: bool,
    ) -> BoxFuture<'a, Result<PairingView, RpcError>>;
    /// Removes a paired recipient. Returns false without one.
    ///
    /// # Errors
    /// A failure of the store.
    fn unpair<'a>(
        &'a self,
        name: &'a ChannelName,
        address: &'a str,
    ) -> BoxFuture<'a, Result<bool, RpcError>>;
}
