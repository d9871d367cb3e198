//! The commands of an installation as processes.
//!
//! Owns the end of a command: its exit, a cancellation, or the time limit of the whole installation. A command runs with
//! the basic variables and those of its step. Never runs a program of a package. Pitfall: a command whose output ends
//! before the process; the sentence about the exit decides.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rouse_core::extension::package::InstallStep;
use rouse_core::extension::{
    ExtensionName, ServerCommand, ServerLine, ServerProcess, ServerProcesses,
};
use rouse_core::text::escape_line;
use tokio_util::sync::CancellationToken;

/// The sentence about a process that exited without an error.
const EXITED_WELL: &str = "The server exited with status 0.";
/// The last lines of the error output in an error.
const SHOWN_LINES: usize = 8;
/// The maximum characters of a shown line.
const SHOWN_CHARACTERS: usize = 200;
/// The first characters of an error line that is longer. The rest of its limit is for the end, where pip has the newest
/// versions.
const BEGIN_CHARACTERS: usize = 80;
/// Words of npm about its log file, which the failed installation deletes.
const NPM_LOG_FILE: &str = "A complete log of this run can be found in";

/// Words in the error output of pip and uv, each with its explanation.
const EXPLANATIONS: [(&str, &str); 3] = [
    ("THESE PACKAGES DO NOT MATCH THE HASHES", OTHER_HASH),
    ("Hash mismatch for", OTHER_HASH),
    ("no such option: --", "Its pip is older than 22.2. Update Python or install uv."),
];
/// The explanation of a download with another hash.
const OTHER_HASH: &str = "A downloaded file has another SHA-256 than the requirements. The registry may have replaced the file, or your Python is another. To accept the new files, remove the server and install it again.";

/// Why an installation failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::extensions) enum InstallError {
    /// A command failed, or its result is not the accepted package.
    #[error("{0}")]
    Failed(String),
    /// The person cancelled.
    #[error("The installation was cancelled. Nothing was changed.")]
    Cancelled,
    /// The time limit is over.
    #[error(
        "The installation took longer than {} s and was ended. Check the network connection, then try again.",
        .0.as_secs()
    )]
    TimedOut(Duration),
    /// An installation of this extension runs.
    #[error("{0} is being installed. Wait for its end, or cancel it.")]
    Running(ExtensionName),
}

/// What an installation does, and its cancellation.
#[derive(Debug, Default)]
pub(super) struct InstallProgress {
    step: Mutex<String>,
    pub(super) cancel: CancellationToken,
}

impl InstallProgress {
    /// What the installation does.
    pub(super) fn step(&self) -> String {
        self.step.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_step(&self, step: impl Into<String>) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step.into();
    }
}

/// Waits for the cancellation or the time limit.
pub(super) async fn stop_of(cancel: CancellationToken, limit: Duration) -> InstallError {
    match tokio::time::timeout(limit, cancel.cancelled()).await {
        Ok(()) => InstallError::Cancelled,
        Err(_) => InstallError::TimedOut(limit),
    }
}

/// Runs the commands one after the other in `folder` until one fails or `stop` is ready.
pub(super) async fn run_steps(
    processes: &dyn ServerProcesses,
    name: &ExtensionName,
    steps: &[InstallStep],
    folder: &Path,
    progress: &InstallProgress,
    mut stop: Pin<&mut (impl Future<Output = InstallError> + Send)>,
) -> Result<(), InstallError> {
    for step in steps {
        let program = program_name(step);
        progress.set_step(format!("running {program}"));
        let command = ServerCommand {
            extension: name.clone(),
            program: step.program.clone(),
            arguments: step.arguments.clone(),
            environment: step.environment.clone(),
            folder: Some(folder.to_owned()),
            task_folder: None,
            folders: Vec::new(),
            hosts: Vec::new(),
            is_unconfined: true,
        };
        let process = processes.start(command).await;
        let process = process.map_err(|error| InstallError::Failed(error.0))?;
        tokio::select! {
            end = end_of(&*process, &program, progress) => {
                if end != EXITED_WELL {
                    return Err(failure(&program, &end, &process.stderr_tail()));
                }
            }
            reason = &mut stop => {
                process.stop().await;
                return Err(reason);
            }
        }
    }
    Ok(())
}

/// Shows the output as progress; returns the sentence about the end.
async fn end_of(process: &dyn ServerProcess, program: &str, progress: &InstallProgress) -> String {
    loop {
        match process.receive().await {
            Ok(ServerLine::TooLong) => {}
            Ok(ServerLine::Text(line)) => {
                let line = escape_line(&String::from_utf8_lossy(&line));
                let line: String = line.trim().chars().take(SHOWN_CHARACTERS).collect();
                if !line.is_empty() {
                    progress.set_step(format!("{program}: {line}"));
                }
            }
            Err(end) => return end.0,
        }
    }
}

fn program_name(step: &InstallStep) -> String {
    let path = Path::new(&step.program);
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The error of a failed command with the end of its error output.
fn failure(program: &str, end: &str, stderr: &str) -> InstallError {
    let end = end.replacen("The server", program, 1);
    let is_useful = |line: &&str| !line.is_empty() && !line.contains(NPM_LOG_FILE);
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(is_useful).collect();
    let mut message = format!("The package was not installed. {end}");
    if let Some((_, explanation)) = EXPLANATIONS.iter().find(|(words, _)| stderr.contains(*words)) {
        message.push_str(&format!(" {explanation}"));
    }
    if !lines.is_empty() {
        message.push_str(" Last error output:");
    }
    for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
        // The mark keeps a line of the output from imitating a line of Rouse.
        message.push_str(&format!("\n  │ {}", escape_line(&begin_and_end(line))));
    }
    InstallError::Failed(message)
}

/// The line with at most `SHOWN_CHARACTERS`. `…` marks the omitted middle.
fn begin_and_end(line: &str) -> String {
    let count = line.chars().count();
    if count <= SHOWN_CHARACTERS {
        return line.to_owned();
    }
    let begin: String = line.chars().take(BEGIN_CHARACTERS).collect();
    let end_characters = SHOWN_CHARACTERS - BEGIN_CHARACTERS - 1;
    let end: String = line.chars().skip(count - end_characters).collect();
    format!("{begin}…{end}")
}
