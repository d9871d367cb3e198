//! `run_command`: a command line in the system's shell.
//!
//! Runs in the sandbox, unless a person has written exactly this call into a job: such a call has all rights of the
//! person, like a line of a crontab. The context decides, never an argument, and a missing sandbox is an error. If a
//! person has opened the sandbox for a job, each of the job's other calls needs an approval, and no grant covers such a
//! call.
//!
//! An approval is bound to the line, the folder, the environment, and the content of the files that the line names or
//! the programs read (`bound_files`); `verification` checks these files again at the start. A line with code beyond
//! these files cannot be granted (`unbound_code`).

mod approval_text;
mod bound_files;
mod call;
mod call_sandbox;
mod command_line;
mod confinement;
mod environment;
mod interpreters;
mod outcome;
mod programs;
mod shell;
mod shell_script;
mod unbound_code;
mod verification;
#[cfg(all(test, unix))]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::escape_invisible;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, RateLimit, SandboxMode, Tool, ToolContext,
    ToolDomain, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

use crate::http_guard::{Fetcher, HttpConfig};
use crate::process::{ChildProcess, CompletedProcess};
use crate::sandbox::{Sandbox, SealedFile, probe_sandbox};
use crate::spec::{object_schema, read_only_spec};
use crate::workspace::create_private_folder;
use crate::{arguments, output};
use call::{Arguments, CallSettings, CommandError, check_line, surroundings, working_folder};
use call_sandbox::{CallSandboxes, summarize_access};
pub use call_sandbox::{private_homes, remove_homes_without_job};
use confinement::{SandboxProbe, is_sandboxed};
pub use environment::Environment;
#[cfg(not(windows))]
pub(crate) use environment::sandbox_variables;
use environment::{passed_variables, run_variables};
use outcome::command_output;

/// Longest time limit: a day.
const MAX_SECONDS: u64 = 86_400;

/// Settings of commands.
#[derive(Debug, Clone)]
pub struct CommandConfig {
    /// Identifies this data directory in process markers, by which orphans of a crash are found.
    pub instance: String,
    /// Default time limit (`RUN_COMMAND_TIMEOUT_MS`).
    pub timeout: Duration,
    /// Rouse's own data, hidden from sandboxed commands even inside the workspace.
    pub hidden: Vec<PathBuf>,
    /// The folder of the jobs' private homes; otherwise a command's home is `/tmp`.
    pub homes: Option<PathBuf>,
    /// Limits of hosts that a job grants to commands.
    pub network: HttpConfig,
    /// The environment that commands get a part of.
    pub environment: Environment,
}

impl Default for CommandConfig {
    fn default() -> Self {
        Self {
            instance: "rouse".to_owned(),
            timeout: Duration::from_secs(600),
            hidden: Vec::new(),
            homes: None,
            network: HttpConfig::default(),
            environment: Environment::from_process(),
        }
    }
}

pub(crate) struct RunCommand {
    spec: ToolSpec,
    config: CommandConfig,
    settings: CallSettings,
    calls: AtomicU64,
    probe: Arc<SandboxProbe>,
    /// Runs in tests between the verification and the start of the command.
    #[cfg(test)]
    after_verification: Option<Box<dyn Fn() + Send + Sync>>,
}

impl RunCommand {
    pub(crate) fn new(config: CommandConfig) -> Self {
        let description = "Runs a command line in the system's shell; returns exitCode, stdout, stderr, and json where stdout is JSON. Sandboxed unless the job says otherwise: writes go to the workspace, HOME (private, kept), /tmp (deleted afterwards) and granted folders; others fail. No network but the job's hosts. Background processes end with it.";
        let parameters = object_schema(
            &["command"],
            json!({
                "command": { "type": "string", "minLength": 1, "maxLength": 8_192 },
                "cwd": { "type": "string", "description": "Default: the workspace.", "minLength": 1, "maxLength": 4_096 },
                "timeoutSeconds": { "type": "integer", "minimum": 1, "maximum": MAX_SECONDS },
            }),
        );
        let base = read_only_spec("run_command", "Run a command", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 30, per_hour: 300 },
            call_for: Duration::from_secs(MAX_SECONDS + 60),
            domain: ToolDomain::Container,
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: vec!["command".to_owned()],
            ..base
        };
        let sandboxes =
            CallSandboxes { hidden: config.hidden.clone().into(), homes: config.homes.clone() };
        let settings = CallSettings { sandboxes, environment: config.environment.clone() };
        Self {
            spec,
            config,
            settings,
            calls: AtomicU64::new(0),
            probe: Arc::new(SandboxProbe::new(probe_sandbox)),
            #[cfg(test)]
            after_verification: None,
        }
    }

    /// The time limit of a call. A model's request cannot exceed the person's setting.
    fn time_limit(&self, arguments: &Arguments, sandbox: &SandboxMode) -> Duration {
        let default = self.config.timeout;
        let requested = arguments.timeout_seconds.map_or(default, Duration::from_secs);
        match sandbox {
            SandboxMode::ByPersonUnsandboxed { .. } => requested,
            SandboxMode::Sandboxed { .. } | SandboxMode::OpenedByPerson { .. } => {
                requested.min(default)
            }
        }
    }

    async fn run(
        &self,
        arguments: Arguments,
        approved: Option<Surroundings>,
        context: &ToolContext,
    ) -> Result<ToolOutput, CommandError> {
        check_line(&arguments.command)?;
        let (arguments, sealed_files) = self.verify(arguments, approved, context).await?;
        let runs_copies = !sealed_files.is_empty();
        #[cfg(test)]
        self.after_verification.iter().for_each(|act| act());
        let limit = self.time_limit(&arguments, &context.sandbox);
        // A marker per call, so that the end of a call spares the other calls of the run.
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{}:{}:{call}", self.config.instance, context.run_id);
        let (child, summary) = if is_sandboxed(&context.sandbox) {
            let sandbox = self.settings.sandboxes.build(arguments.cwd.as_deref(), context)?;
            let sandbox = Sandbox { sealed_files, ..sandbox };
            let summary = summarize_access(&sandbox);
            (self.spawn_sandboxed(&arguments, context, sandbox, &marker).await?, Some(summary))
        } else {
            (self.spawn_unsandboxed(&arguments, context, &marker)?, None)
        };
        let child = child.with_cleanups(&context.pending_cleanup);
        let completed = child.finish(limit).await.map_err(CommandError::Lost)?;
        if runs_copies && was_copy_replaced(&completed) {
            return Err(CommandError::Replaced);
        }
        Ok(command_output(&completed, limit, summary))
    }

    async fn spawn_sandboxed(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        sandbox: Sandbox,
        marker: &str,
    ) -> Result<ChildProcess, CommandError> {
        let home = sandbox.home.as_deref().map(create_private_folder);
        home.transpose().map_err(CommandError::Home)?;
        #[cfg(windows)]
        let sandbox = sandbox.prepare().await?;
        let variables =
            passed_variables(&self.config.environment, context).chain(run_variables(context));
        let fetcher = Fetcher::new(&self.config.network);
        Ok(sandbox.spawn(&arguments.command, variables, marker, fetcher)?)
    }

    fn spawn_unsandboxed(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        marker: &str,
    ) -> Result<ChildProcess, CommandError> {
        let folder = working_folder(arguments.cwd.as_deref(), &context.workspace)?;
        let variables =
            passed_variables(&self.config.environment, context).chain(run_variables(context));
        let mut command = shell::shell_command(&arguments.command);
        command.current_dir(folder).env_clear().envs(variables);
        ChildProcess::spawn(command, marker).map_err(CommandError::Start)
    }

    /// Verifies the approval right before the start; returns the files that run as copies.
    async fn verify(
        &self,
        arguments: Arguments,
        approved: Option<Surroundings>,
        context: &ToolContext,
    ) -> Result<(Arguments, Vec<SealedFile>), CommandError> {
        let Some(approved) = approved else { return Ok((arguments, Vec::new())) };
        let (context, settings) = (context.clone(), self.settings.clone());
        let verify = move || {
            let sealed = verification::verify_and_seal(&arguments, &context, &settings, &approved)?;
            Ok((arguments, sealed))
        };
        tokio::task::spawn_blocking(verify).await.unwrap_or(Err(CommandError::Verification))
    }
}

/// Whether the sandbox ended the command because a copy was unmounted.
#[cfg(target_os = "linux")]
fn was_copy_replaced(completed: &CompletedProcess) -> bool {
    use std::os::unix::process::ExitStatusExt as _;

    use crate::process::ExitCause;
    use crate::sandbox::COPY_REPLACED_SIGNAL;
    matches!(&completed.exit, ExitCause::Exited(status) if status.signal() == Some(COPY_REPLACED_SIGNAL))
}

#[cfg(not(target_os = "linux"))]
const fn was_copy_replaced(_: &CompletedProcess) -> bool {
    false
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let command = arguments["command"].as_str().unwrap_or_default();
        command.trim().is_empty().then(|| "/command: must not be empty or only spaces".to_owned())
    }

    fn approval(&self, _: &Value, context: &ToolContext) -> ApprovalRule {
        self.default_approval(&context.sandbox)
    }

    /// Outside the sandbox, every call that no person has written needs an approval.
    fn default_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        match sandbox {
            SandboxMode::OpenedByPerson { .. } => ApprovalRule::Always,
            SandboxMode::Sandboxed { .. } | SandboxMode::ByPersonUnsandboxed { .. } => {
                self.spec.approval
            }
        }
    }

    fn unavailable_reason<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        Box::pin(Arc::clone(&self.probe).unavailable_reason(sandbox))
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let arguments = match arguments::parse::<Arguments>(arguments) {
                Ok(arguments) => arguments,
                Err(error) => return escape_invisible(&format!("{error}\n\n{arguments:#}")),
            };
            let requested = arguments.timeout_seconds;
            let limit = requested.map(|_| self.time_limit(&arguments, &context.sandbox));
            let (settings, context) = (self.settings.clone(), context.clone());
            let describe = move || approval_text::describe(&arguments, &context, &settings, limit);
            let text = tokio::task::spawn_blocking(describe).await;
            text.expect("BUG: describing a command does not panic")
        })
    }

    /// Refuses a command that could not run even with an approval.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let (context, settings) = (context.clone(), self.settings.clone());
        let probe = Arc::clone(&self.probe);
        Box::pin(output::run_blocking_with(arguments, move |arguments: Arguments| {
            if is_sandboxed(&context.sandbox) {
                probe.check()?;
            }
            check_line(&arguments.command)?;
            surroundings(&arguments, &context, &settings)
        }))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::parse(call.arguments()) {
                Ok(arguments) => {
                    let output = self.run(arguments, call.bound().cloned(), context).await;
                    output.unwrap_or_else(|error| output::error_output(&error))
                }
                Err(error) => output::failure(Fault::InvalidParameters, error),
            }
        })
    }
}
