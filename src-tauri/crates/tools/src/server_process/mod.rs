//! Long-lived child processes that speak in lines: MCP servers over stdio.
//!
//! Owns the start: private folder, program, environment, and the choice between the sandbox and the person's rights.
//! `piped_server` owns a running server, `lines` and `stderr_tail` its output, `confined` and `program_files` the
//! sandbox, `folder_check` the check of folders before a page. Never decides whether a server may run unconfined: the command says so. Never restarts a server.
//! Pitfall: the engine's environment; a server gets the basic variables and the declared ones.

mod program;
mod environment;
mod folder_check;
#[cfg(not(windows))]
mod program_files;
#[cfg(not(windows))]
mod confined;
mod life;
mod lines;
mod stderr_tail;
mod piped_server;
mod server_start;
mod task_folder;

#[cfg(all(test, unix))]
mod tests;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::extension::{ServerCommand, ServerProcess, ServerProcesses, ServerStartError};
use rouse_core::tool::BoxFuture;
use tokio::process::Command;

use crate::http_guard::HttpConfig;
use crate::process::{ProcessGroup, ProcessPipes};
use crate::tools::run_command::Environment;
use crate::workspace::create_private_folder;
use environment::basic_variables;
pub use folder_check::{check_granted_folders, working_folder};
use piped_server::PipedServer;
pub use program::find_program;
use server_start::ServerStart;

/// Time for each step of a stop: after the end of the input, and after the request to terminate.
const STOP_STEP: Duration = Duration::from_secs(2);

/// Settings of server processes.
#[derive(Debug, Clone)]
pub struct LineProcessConfig {
    /// Identifies this data directory in process markers, by which orphans of a crash are found.
    pub instance: String,
    /// The parent of the private folders; each is named like its extension.
    pub folders: PathBuf,
    /// The parent of the installed packages, outside of the private folders; each is named like its extension.
    /// A confined server reads its package and cannot write it.
    pub packages: PathBuf,
    /// Rouse's own data, hidden from confined servers.
    pub hidden: Vec<PathBuf>,
    /// Limits of the hosts that a confined server may reach.
    pub network: HttpConfig,
}

/// Starts server processes, confined by default.
#[derive(Debug)]
pub struct LineProcesses {
    config: LineProcessConfig,
    environment: Environment,
    stop_step: Duration,
    starts: AtomicU64,
}

impl LineProcesses {
    /// Starts servers with a part of this process's environment.
    #[must_use]
    pub fn new(config: LineProcessConfig) -> Self {
        Self {
            config,
            environment: Environment::from_process(),
            stop_step: STOP_STEP,
            starts: AtomicU64::new(0),
        }
    }

    fn start_process(&self, command: &ServerCommand) -> Result<PipedServer, ServerStartError> {
        let start = self.prepare(command)?;
        let started = if command.is_unconfined {
            self.spawn_unconfined(&start)
        } else {
            self.spawn_confined(&start)
        };
        let (group, pipes) = started?;
        Ok(PipedServer::new(group, pipes, self.stop_step))
    }

    /// Creates the private folder and finds the program.
    fn prepare<'c>(&self, command: &'c ServerCommand) -> Result<ServerStart<'c>, ServerStartError> {
        let extension = command.extension.as_str();
        let private_folder = self.config.folders.join(extension);
        create_private_folder(&private_folder).map_err(|error| {
            let folder = private_folder.display();
            ServerStartError(format!(
                "The private folder {folder} of the server could not be created: {error}. Check the disk and the permissions of its parent folder."
            ))
        })?;
        let path = self.environment.path();
        let program = find_program(&command.program, Some(&*path.to_string_lossy()))
            .map_err(ServerStartError)?;
        let program = PathBuf::from(program);
        let folder = match (&command.task_folder, &command.folder) {
            (Some(folder), _) => folder.clone(),
            (None, Some(folder)) => working_folder(&folder.to_string_lossy())?,
            (None, None) => private_folder.clone(),
        };
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}:server-{extension}:{number}", self.config.instance);
        let package = self.config.packages.join(extension);
        Ok(ServerStart { command, program, private_folder, package, folder, marker })
    }

    fn spawn_unconfined(
        &self,
        start: &ServerStart<'_>,
    ) -> Result<(ProcessGroup, ProcessPipes), ServerStartError> {
        let mut command = Command::new(&start.program);
        command.args(&start.command.arguments).current_dir(&start.folder);
        command.env_clear().envs(basic_variables(&self.environment, &start.program));
        command.envs(&start.command.environment);
        ProcessGroup::spawn(command, &start.marker, Stdio::piped()).map_err(|error| {
            let program = start.program.display();
            ServerStartError(format!(
                "The program {program} could not be started: {error}. Check that the file is a program for this computer."
            ))
        })
    }

    #[cfg(not(windows))]
    fn spawn_confined(
        &self,
        start: &ServerStart<'_>,
    ) -> Result<(ProcessGroup, ProcessPipes), ServerStartError> {
        confined::spawn(start, &self.config.hidden, &self.config.network, &self.environment)
    }

    /// Refuses: the shell of the sandbox would interpret the arguments.
    #[cfg(windows)]
    fn spawn_confined(
        &self,
        _: &ServerStart<'_>,
    ) -> Result<(ProcessGroup, ProcessPipes), ServerStartError> {
        Err(ServerStartError(
            "A confined server cannot run on Windows: the sandbox cannot pass arguments safely. You can let the server run with your own rights.".to_owned(),
        ))
    }
}

impl ServerProcesses for LineProcesses {
    fn start(
        &self,
        command: ServerCommand,
    ) -> BoxFuture<'_, Result<Box<dyn ServerProcess>, ServerStartError>> {
        Box::pin(async move {
            let process = self.start_process(&command)?;
            Ok(Box::new(process) as Box<dyn ServerProcess>)
        })
    }
}
