//! A call of `run_command`: arguments, surroundings for the approval, and errors.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::approval::Surroundings;
use rouse_core::tool::{Fault, ToolContext};
use serde::Deserialize;

use super::bound_files::{BoundFiles, FileScope};
use super::call_sandbox::{CallSandboxes, bound_roots};
use super::confinement::{describe_confinement, is_sandboxed};
use super::environment::{Environment, RUN_ID, passed_variables, run_variables};
use super::shell;
use crate::output::ToolFailure;
use crate::sandbox::SandboxError;
use crate::workspace::{expand_home, home_folder};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    pub(super) command: String,
    pub(super) cwd: Option<String>,
    pub(super) timeout_seconds: Option<u64>,
}

/// Settings of all calls.
#[derive(Clone)]
pub(super) struct CallSettings {
    pub(super) sandboxes: CallSandboxes,
    pub(super) environment: Environment,
}

/// A command that did not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("The folder {} does not exist.", .0.display())]
    NoFolder(PathBuf),
    #[error(
        "The shell of Windows runs the first line only, so nothing was run. Join the commands with && in one line, or write them to a .cmd file and call that."
    )]
    SeveralLines,
    #[error("The command could not be started: {0}.")]
    Start(#[source] io::Error),
    #[error("The home of this job's commands could not be created: {0}. Nothing was run.")]
    Home(#[source] io::Error),
    #[error("The exit status of the command is unknown: {0}.")]
    Lost(#[source] io::Error),
    #[error(
        "Something that the command uses has changed since the approval ({0}), so the command was not run. Call the tool again for a new approval."
    )]
    Changed(String),
    #[error("A file that the command runs was replaced meanwhile, so the command was ended.")]
    Replaced,
    #[error("The check of the approved files failed. Nothing was run.")]
    Verification,
}

impl ToolFailure for CommandError {
    fn fault(&self) -> Fault {
        match self {
            Self::Sandbox(SandboxError::Missing(_) | SandboxError::Workspace { .. }) => {
                Fault::Sandbox
            }
            Self::Sandbox(SandboxError::Folder { .. } | SandboxError::Granted(_))
            | Self::Changed(_)
            | Self::Replaced => Fault::NotAuthorised,
            Self::Sandbox(SandboxError::Path { .. }) | Self::SeveralLines => {
                Fault::InvalidParameters
            }
            Self::Sandbox(SandboxError::Start(_))
            | Self::NoFolder(_)
            | Self::Start(_)
            | Self::Home(_)
            | Self::Lost(_)
            | Self::Verification => Fault::Execution,
        }
    }
}

/// Refuses a line that the shell would read in part.
pub(super) fn check_line(line: &str) -> Result<(), CommandError> {
    shell::reads_whole_line(line).then_some(()).ok_or(CommandError::SeveralLines)
}

/// The surroundings that an approval of the call is bound to.
pub(super) fn surroundings(
    arguments: &Arguments,
    context: &ToolContext,
    settings: &CallSettings,
) -> Result<Surroundings, CommandError> {
    let scope = file_scope(arguments, context, settings)?;
    // The zero marks a value that is not UTF-8; no variable contains a zero, so two values never become equal.
    let text = |text: OsString| text.into_string().unwrap_or_else(|raw| format!("\0{raw:?}"));
    // Differs in each run, and does not affect the command.
    let run = run_variables(context).filter(|(name, _)| name != RUN_ID);
    let variables = passed_variables(&settings.environment, context).chain(run);
    let environment: BTreeMap<String, String> =
        variables.map(|(name, value)| (text(name), text(value))).collect();
    let bound = scope.bind(&arguments.command);
    let ungranted = scope.ungranted_reason(&arguments.command, &bound);
    let BoundFiles { files, replaces, .. } = bound;
    let confinement = Some(describe_confinement(context));
    let here = Surroundings::in_folder(&scope.folder);
    Ok(Surroundings { confinement, environment, files, replaces, ungranted, ..here })
}

/// The folders in which the command's words are looked up.
pub(super) fn file_scope(
    arguments: &Arguments,
    context: &ToolContext,
    settings: &CallSettings,
) -> Result<FileScope, CommandError> {
    let cwd = arguments.cwd.as_deref();
    if is_sandboxed(&context.sandbox) {
        let sandbox = settings.sandboxes.build(cwd, context)?;
        let (roots, home) = (bound_roots(&sandbox), sandbox.home);
        return Ok(FileScope { folder: sandbox.folder, roots, home, is_sandboxed: true });
    }
    let folder = working_folder(cwd, &context.workspace)?;
    let workspace = context.workspace.canonicalize().unwrap_or(context.workspace.clone());
    Ok(FileScope { folder, roots: vec![workspace], home: home_folder(), is_sandboxed: false })
}

pub(super) fn working_folder(cwd: Option<&str>, workspace: &Path) -> Result<PathBuf, CommandError> {
    let folder = match cwd.map(|cwd| (cwd, expand_home(cwd))) {
        None => workspace.to_owned(),
        Some((_, Some(at_home))) => at_home,
        // Joining an absolute path replaces the workspace.
        Some((cwd, None)) => workspace.join(cwd),
    };
    if folder.is_dir() { Ok(folder) } else { Err(CommandError::NoFolder(folder)) }
}
