//! The built-in tools of Rouse: one file each, every one a `rouse_core::tool::Tool`.
//!
//! A tool does one small thing and says in its spec how it wants to be judged. It refuses to judge itself: whether a
//! call may run, how often, and whether its output is to be trusted is decided by the gate, which is why every tool
//! takes an `ApprovedCall`. Tools hold no handles of other rooms; what they want from the run (a notification, the end)
//! they return as a `ToolEffect`. A failure that the caller can mend is an output marked as an error, never a panic.
//!
//! `run_command`, `write_file`, `edit_file`, `create_workspace` and most requests of `http` change something outside the run: of each
//! such call its tool says that it asks, what a person is to be shown, and what the answer is bound to. How far they reach
//! is settled in four places: `sandbox` for commands, `http` for addresses, `workspace` and `reach` for files. One could get this
//! wrong by giving a tool an argument that loosens its own limits, or by letting a second path reach the network or the disk.

mod arguments;
mod answer;
mod spec;
mod text;
mod charset;
mod piece;
mod media;

mod echo;
mod json;
mod time;

mod http;
mod web_fetch;
mod web_search;

mod workspace;
mod reach;

mod list_dir;
mod read_file;
mod write_file;
mod edit_file;
mod search_files;
mod create_workspace;

mod memory;

mod routines;
mod skill_load;
mod skill_read;

mod child;
mod sandbox;
mod run_command;

mod complete_run;
mod notify;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::fetches::FetchHistory;
use rouse_core::tool::Tool;

pub use child::{MARK, end_strays};
pub use http::{HttpConfig, OwnPorts};
pub use memory::memory_tools;
pub use routines::routine_tools;
pub use run_command::{CommandConfig, Environment, private_homes, remove_homes_without_job};
pub use sandbox::{Layer, Layers, Missing, SandboxError, available as sandbox_available};
pub use skill_read::skill_tools;
pub use text::{plain_line, plain_text};
pub use web_fetch::ReaderProgram;
pub use web_fetch::reader::read_page_if_asked;
pub use web_search::{SearchAccess, SearchKind, SearchSettings};

/// The limits of the built-in tools, from the configuration.
#[derive(Debug, Clone)]
pub struct ToolsConfig {
    /// The largest piece of a file that `read_file` returns at once (`READ_FILE_MAX_BYTES`).
    pub read_file_max_bytes: u64,
    /// Where `http` may go.
    pub http: HttpConfig,
    /// How commands are run.
    pub command: CommandConfig,
    /// Whether the person has opened the workspace wider than is safe (`RISKY_WORKSPACE_MODE`).
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

/// The tools that read and search the web for a model.
#[must_use]
pub fn web_tools(
    http: &HttpConfig,
    reader: ReaderProgram,
    history: Arc<dyn FetchHistory>,
    search: Arc<dyn SearchSettings>,
) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(web_fetch::WebFetch::new(http, reader, history)),
        Arc::new(web_search::WebSearch::new(search, http.own_ports.clone())),
    ]
}

/// All built-in tools, in the order of the catalogue.
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
    ]
}
