//! The start of a server in the sandbox.
//!
//! Owns the folders of a confined server: the private folder as workspace and home (writable), the declared folders,
//! the folder of a coding agent's task, and read access to the installed package and the files of the program. The sandbox ends with the server. Never shows
//! a folder that no grant may contain, other than the server's own package. Pitfall: an argument that the shell would
//! interpret; every word is quoted.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::extension::ServerStartError;
use rouse_core::job::{FolderAccess, FolderGrant};

use super::environment::path_with_program;
use super::program_files::{ProgramFiles, with_real_folder};
use super::server_start::ServerStart;
use crate::http_guard::{Fetcher, HttpConfig};
use crate::process::{ProcessGroup, ProcessPipes};
use crate::sandbox::{Sandbox, SandboxError};
use crate::tools::run_command::{Environment, sandbox_variables};
use crate::workspace::{GrantedFolder, RunFolders, expand_granted_path};
use rouse_core::text::quote_word;

/// Lets Node.js find the proxy in the environment; other runtimes do by themselves.
const NODE_PROXY: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");

/// Starts a server in the sandbox. `hidden` is Rouse's own data.
pub(super) fn spawn(
    start: &ServerStart<'_>,
    hidden: &[PathBuf],
    network: &HttpConfig,
    environment: &Environment,
) -> Result<(ProcessGroup, ProcessPipes), ServerStartError> {
    let program = with_real_folder(&start.program).unwrap_or_else(|| start.program.clone());
    let line = exec_line(&program, &start.command.arguments)?;
    let sandbox = sandbox(start, hidden)?;
    let variables = variables(&sandbox, start, &program, environment);
    sandbox.spawn_piped(&line, variables, &start.marker, Fetcher::new(network)).map_err(explain)
}

/// A shell line that replaces the shell by the program.
fn exec_line(program: &Path, arguments: &[String]) -> Result<String, ServerStartError> {
    let program = program.to_str().ok_or_else(|| {
        let program = program.display();
        ServerStartError(format!(
            "The path {program} is not valid UTF-8. Move the program to another folder."
        ))
    })?;
    let words = [program].into_iter().chain(arguments.iter().map(String::as_str));
    let quoted = words.map(quote_word);
    Ok(format!("exec {}", quoted.collect::<Vec<_>>().join(" ")))
}

fn sandbox(start: &ServerStart<'_>, hidden: &[PathBuf]) -> Result<Sandbox, ServerStartError> {
    let command = start.command;
    let hidden_data: Arc<[PathBuf]> = hidden.into();
    let private_folder = start.private_folder.as_path();
    let declared = RunFolders::with_grants(private_folder, command.folders.clone(), &hidden_data);
    let mut declared =
        declared.granted_folders().map_err(|error| ServerStartError(error.to_string()))?;
    // The tool has checked the folder against the folders of the run.
    let task_folder = command.task_folder.iter();
    declared.extend(
        task_folder.map(|path| GrantedFolder { path: path.clone(), access: FolderAccess::Write }),
    );
    // The working directory is declared or private: the program's files do not count.
    let folder = start.folder.to_string_lossy();
    let sandbox = Sandbox::new(private_folder, &declared, Some(&folder)).map_err(explain)?;
    let mut visible = VisibleFiles { folders: declared, files: Vec::new() };
    visible.add_package(&start.package)?;
    let needed = ProgramFiles::new(&start.program, &command.arguments);
    visible.add(&sandbox.workspace, needed, &hidden_data);
    Ok(Sandbox {
        home: Some(sandbox.workspace.clone()),
        granted: visible.folders,
        extra_programs: visible.files,
        hidden: hidden.to_vec(),
        hosts: command.hosts.clone(),
        ..sandbox
    })
}

/// The files that a server sees beside its private folder.
struct VisibleFiles {
    folders: Vec<GrantedFolder>,
    /// Files and links outside the folders.
    files: Vec<PathBuf>,
}

impl VisibleFiles {
    /// Adds the installed package, read-only. The package lies in Rouse's own data, where no grant reaches.
    fn add_package(&mut self, package: &Path) -> Result<(), ServerStartError> {
        match package.canonicalize() {
            Ok(path) => self.folders.push(GrantedFolder { path, access: FolderAccess::Read }),
            // A server without a package.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let package = package.display();
                return Err(ServerStartError(format!(
                    "The package {package} of the server cannot be read: {error}. Check its permissions."
                )));
            }
        }
        Ok(())
    }

    /// Adds the files of the program. A folder that no grant may contain shows only the needed file.
    fn add(&mut self, private_folder: &Path, needed: ProgramFiles, hidden: &Arc<[PathBuf]>) {
        let mut files = Vec::new();
        for folder in needed.folders {
            if self.includes(&folder.path) || folder.path.starts_with(private_folder) {
                continue;
            }
            let path = folder.path.to_string_lossy().into_owned();
            let grant = FolderGrant { path, access: FolderAccess::Read };
            let granted = RunFolders::with_grants(private_folder, vec![grant], hidden);
            match granted.granted_folders() {
                Ok(granted) => self.folders.extend(granted),
                Err(error) => {
                    let file = folder.file.display();
                    tracing::info!(%error, %file, "a server sees only the file of its program");
                    files.push(folder.file);
                }
            }
        }
        self.folders.sort_by_key(|folder| folder.path.components().count());
        for file in files.into_iter().chain(needed.links) {
            let is_visible = self.includes(&file) || file.starts_with(private_folder);
            if !is_visible && !self.files.contains(&file) {
                self.files.push(file);
            }
        }
    }

    fn includes(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(&folder.path))
    }
}

/// The variables of `run_command`, then the declared ones. The sandbox sets the home and the proxy.
fn variables(
    sandbox: &Sandbox,
    start: &ServerStart<'_>,
    program: &Path,
    environment: &Environment,
) -> Vec<(OsString, OsString)> {
    let declared = start.command.folders.iter().map(|folder| expand_granted_path(&folder.path));
    let own = [sandbox.workspace.clone()].into_iter().chain(start.command.task_folder.clone());
    let writable: Vec<PathBuf> = own.chain(declared).collect();
    let mut variables = sandbox_variables(environment, &writable);
    for (name, value) in &mut variables {
        if name == "PATH" {
            *value = path_with_program(value, program);
        }
    }
    if !sandbox.hosts.is_empty() {
        variables.push((NODE_PROXY.0.into(), NODE_PROXY.1.into()));
    }
    let declared = start.command.environment.iter();
    variables.extend(declared.map(|(name, value)| (name.into(), value.into())));
    variables
}

fn explain(error: SandboxError) -> ServerStartError {
    ServerStartError(match error {
        SandboxError::Missing(missing) => {
            format!("{missing} Without a sandbox, the server can run only with your own rights.")
        }
        SandboxError::Folder { path } => {
            let folder = path.display();
            format!(
                "The working folder {folder} is neither the server's private folder nor one of its folders. Add it to the server's folders, or change the working folder."
            )
        }
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_passes_quoted_words_unchanged() {
        let words = ["%s\\n", "it's", "\"$HOME\" `id` \\", "a\nb; *", ""].map(str::to_owned);
        let line = exec_line(Path::new("/usr/bin/printf"), &words).expect("UTF-8");
        let output = std::process::Command::new("/bin/sh").arg("-c").arg(line).output();
        let output = output.expect("runs").stdout;
        let expected = format!("{}\n", words[1..].join("\n"));
        assert_eq!(String::from_utf8_lossy(&output), expected);
    }
}
