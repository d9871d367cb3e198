//! The installed coding agents.
//!
//! Owns the start of an agent: the accepted definition with its secrets, the check of its files, and the time limit.
//! Never starts an agent that is switched off.

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::RunId;
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, ServerProcesses, ServerUnavailable, TaskFolders,
    UnavailableKind,
};
use rouse_core::tool::Tool;

use super::connection::{AgentConnection, AgentError};
use super::tool::DelegateTool;
use super::waiting_tasks::WaitingTasks;
use crate::servers::{command, start_limit};

/// The ports of the coding agents.
pub struct CodingAgentsConfig {
    /// The installed extensions.
    pub book: Arc<dyn ExtensionBook>,
    /// Starts the processes.
    pub processes: Arc<dyn ServerProcesses>,
    /// Finds the folders of tasks.
    pub folders: Arc<dyn TaskFolders>,
}

/// The installed coding agents and their waiting tasks. Cheap to clone.
#[derive(Clone)]
pub struct CodingAgents {
    pub(super) config: Arc<CodingAgentsConfig>,
    pub(super) waiting: WaitingTasks,
}

impl CodingAgents {
    /// Coding agents without a task.
    #[must_use]
    pub fn new(config: CodingAgentsConfig) -> Self {
        Self { config: Arc::new(config), waiting: WaitingTasks::default() }
    }

    /// The tool `delegate`; none without an agent that is switched on.
    #[must_use]
    pub fn tool(&self) -> Option<Arc<dyn Tool>> {
        let agents: Vec<ExtensionName> = self.enabled().map(|(name, _)| name).collect();
        (!agents.is_empty()).then(|| Arc::new(DelegateTool::new(self.clone(), &agents)) as _)
    }

    /// Starts the agent once, without a session. Returns the name and the version that it reports.
    ///
    /// # Errors
    /// The agent is not installed or did not start.
    pub async fn inspect(&self, name: &ExtensionName) -> Result<Option<String>, ServerUnavailable> {
        let entry = self.config.book.get(name).filter(|entry| entry.server.is_coding_agent());
        let entry = entry.ok_or_else(|| ServerUnavailable::not_installed(name))?;
        let connection =
            self.open(name, &entry, None).await.map_err(|error| ServerUnavailable {
                server: name.clone(),
                kind: UnavailableKind::Unreachable,
                reason: error.to_string(),
                remedy: format!("See its definition with `rouse extensions show {name}`."),
            })?;
        connection.stop().await;
        Ok(connection.version())
    }

    /// The runs with a task that waits for a person.
    #[must_use]
    pub fn waiting_runs(&self) -> Vec<RunId> {
        self.waiting.runs()
    }

    /// Ends the tasks of a run that wait for a person.
    pub async fn end_run(&self, run: &RunId) {
        self.waiting.end_run(run).await;
    }

    /// Ends all tasks that wait for a person.
    pub async fn stop_all(&self) {
        self.waiting.end_all().await;
    }

    /// The agents that are switched on.
    fn enabled(&self) -> impl Iterator<Item = (ExtensionName, Extension)> {
        let all = self.config.book.all().into_iter();
        all.filter(|(_, entry)| entry.is_enabled && entry.server.is_coding_agent())
    }

    /// The agent that is switched on.
    ///
    /// # Errors
    /// Cause and remedy, as sentences.
    pub(super) fn find(&self, name: &str) -> Result<(ExtensionName, Extension), String> {
        let parsed = name.parse::<ExtensionName>().map_err(|error| error.to_string())?;
        match self.config.book.get(&parsed).filter(|entry| entry.server.is_coding_agent()) {
            None => Err(not_installed(&parsed)),
            Some(entry) if entry.is_enabled => Ok((parsed, entry)),
            Some(_) => Err(format!(
                "The coding agent {name} is switched off. Switch it on with `rouse extensions enable {name}`."
            )),
        }
    }

    /// Starts the process of an agent that works in `folder`.
    pub(super) async fn open(
        &self,
        name: &ExtensionName,
        entry: &Extension,
        folder: Option<PathBuf>,
    ) -> Result<AgentConnection, AgentError> {
        let config = &self.config;
        let mut command = command(config.book.as_ref(), name, &entry.server)
            .map_err(|why| AgentError::NotStarted(why.to_string()))?;
        command.task_folder = folder;
        // The settings of an agent lie in the real home folder, not in its private one.
        for value in command.environment.values_mut() {
            if value == "~" || value.starts_with("~/") {
                *value = config.folders.expand_home(value).display().to_string();
            }
        }
        let limit = start_limit(&entry.server);
        let opening = async {
            config.book.check_files(name).await.map_err(|difference| {
                AgentError::NotStarted(format!(
                    "The coding agent {name} was not started. {difference} List the differences with `rouse extensions verify {name}`."
                ))
            })?;
            AgentConnection::open(config.processes.as_ref(), command).await
        };
        tokio::time::timeout(limit, opening).await.unwrap_or_else(|_| {
            Err(AgentError::NotStarted(format!(
                "The coding agent {name} did not start within {} s. Start its command in a terminal to see why, or give it more time (`startTimeoutSeconds`).",
                limit.as_secs()
            )))
        })
    }
}

fn not_installed(name: &ExtensionName) -> String {
    format!("The coding agent {name} is not installed. Install it with `rouse agents add {name}`.")
}
