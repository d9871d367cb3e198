//! Rouse's built-in tools, and the sandbox for commands.
//!
//! Owns `tools` (a module per tool) and the limits that all tools share: `sandbox` for commands, `http_guard` for
//! addresses, `workspace` for files, `process` for children. `server_process` and `http_guard` implement the ports of
//! extensions: server processes and guarded HTTP. Never decides whether a call is allowed: a tool describes the call,
//! and the gate makes the `ApprovedCall` that a tool requires. Never holds handles of other rooms: a tool returns a
//! `ToolEffect`. A failure that the caller can correct is an output marked as an error.
//! Pitfall: an argument that loosens a tool's own limits; a second path to the network or the disk.

mod arguments;
mod charset;
mod http_guard;
mod media;
mod output;
mod process;
mod sandbox;
mod server_process;
mod spec;
mod text;
mod text_chunk;
mod text_diff;
mod tools;
mod workspace;

#[cfg(test)]
mod test_context;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::fetch_history::FetchHistory;
use rouse_core::tool::Tool;
use tools::{
    complete_run, create_workspace, echo, edit_file, http, json, list_dir, notify, read_file,
    run_command, search_files, time, tool_search, web_fetch, web_search, write_file,
};

pub use http_guard::{AcceptedServerUrls, GatewayPorts, GuardedHttp, HttpConfig};
pub use process::{PROCESS_MARKER, kill_orphans};
pub use sandbox::{
    IS_SANDBOX_PREVIEW, MissingLayer, SandboxError, SandboxGuarantees, SandboxLayer, probe_sandbox,
};
pub use server_process::{
    LineProcessConfig, LineProcesses, check_granted_folders, find_program, working_folder,
};
pub use text::{plain_line, plain_text};
pub use tools::builder::builder_tools;
pub use tools::memory::memory_tools;
pub use tools::routines::routine_tools;
pub use tools::run_command::{CommandConfig, Environment, private_homes, remove_homes_without_job};
pub use tools::skill_read::skill_tools;
pub use tools::web_fetch::{ReaderProgram, reader::run_page_reader};
pub use tools::web_search::{SearchAccess, SearchKind, SearchSettings};
pub use workspace::expand_granted_path;

/// Limits of the built-in tools, from the configuration.
#[derive(Debug, Clone)]
pub struct ToolsConfig {
    /// Largest read of `read_file` (`READ_FILE_MAX_BYTES`).
    pub read_file_max_bytes: u64,
    /// Limits of `http`.
    pub http: HttpConfig,
    /// Limits of `run_command`.
    pub command: CommandConfig,
    /// Whether the person has widened the workspace (`RISKY_WORKSPACE_MODE`).
    pub is_risky_workspace: bool,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            read_file_max_bytes: 524_288,
            http: HttpConfig::default(),
            command: CommandConfig::default(),
            is_risky_workspace: false,
        }
    }
}

/// The tools for reading and searching the web.
#[must_use]
pub fn web_tools(
    http: &HttpConfig,
    reader: ReaderProgram,
    history: Arc<dyn FetchHistory>,
    search: Arc<dyn SearchSettings>,
) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(web_fetch::WebFetch::new(http, reader, history)),
        Arc::new(web_search::WebSearch::new(search, http.gateway_ports.clone())),
    ]
}

/// The tools that need nothing but the configuration, in the order of the catalogue.
#[must_use]
pub fn builtin(config: ToolsConfig) -> Vec<Arc<dyn Tool>> {
    let hidden: Arc<[PathBuf]> = config.command.hidden.clone().into();
    vec![
        Arc::new(echo::Echo::new()),
        Arc::new(time::Time::new()),
        Arc::new(json::Json::new()),
        Arc::new(http::Http::new(config.http)),
        Arc::new(read_file::ReadFile::new(config.read_file_max_bytes, Arc::clone(&hidden))),
        Arc::new(list_dir::ListDir::new(Arc::clone(&hidden))),
        Arc::new(search_files::SearchFiles::new(Arc::clone(&hidden))),
        Arc::new(write_file::WriteFile::new(Arc::clone(&hidden))),
        Arc::new(edit_file::EditFile::new(hidden)),
        Arc::new(create_workspace::CreateWorkspace::new(config.is_risky_workspace)),
        Arc::new(run_command::RunCommand::new(config.command)),
        Arc::new(notify::Notify::new()),
        Arc::new(complete_run::CompleteRun::new()),
        Arc::new(tool_search::ToolSearch::new()),
    ]
}
