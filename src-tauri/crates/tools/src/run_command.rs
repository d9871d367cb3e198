//! `run_command`: one command line in the system's shell.
//!
//! A command runs in the sandbox (`sandbox`), unless the context says that a person has written exactly this call into a
//! job: then it can do whatever the person can do, like a line in a crontab. Which of the two it is never stands in the
//! arguments, and there is no way from the one to the other: a sandbox that cannot be had is an error. Where a person has
//! opened the sandbox for a job, each call that no person has written is asked for, and no grant covers it. What it gets of the
//! environment is a list (`environment`), a shorter one in the sandbox.
//! A command that fails is an error whose words begin with how; one that succeeds answers what it wrote, and as JSON too
//! where it wrote JSON. What a yes is bound to beside the line (`named`) is its folder, its environment and the content
//! of the files that it names, or that its programs read unnamed; `held` holds the call to it until the command has begun.
//! A line that runs more than what can be bound gets no standing yes (`unheld`).

mod confined;
mod environment;
mod held;
mod interpreters;
mod line;
mod named;
mod programs;
mod shell;
mod unheld;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Domain, Fault, RateLimit, SandboxMode, Tool, ToolContext,
    ToolOutput, ToolSpec,
};
use rouse_core::visible::{visible, visible_line};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, Faulty};
use crate::child::{Child, End, Finished};
use crate::http::{Fetcher, HttpConfig};
use crate::sandbox::{self, Sandbox, SandboxError, Sealed};
use crate::workspace::from_home;
use crate::{arguments, spec};
use confined::{Probe, confinement, is_confined};
pub use environment::Environment;
use environment::{RUN_ID, about, passed};
use named::{Bound, Named};

/// The longest time limit that can be asked for: a day.
const LONGEST_SECONDS: u64 = 86_400;

/// How commands are run.
#[derive(Debug, Clone)]
pub struct CommandConfig {
    /// Names this data directory in the mark of every process, so that what a crash left behind is found again.
    pub instance: String,
    /// The time limit of a call that names none (`RUN_COMMAND_TIMEOUT_MS`).
    pub timeout: Duration,
    /// What a confined command does not see, even where the workspace holds it: Rouse's own data.
    pub hidden: Vec<PathBuf>,
    /// What the hosts that a job grants to its commands may be.
    pub network: HttpConfig,
    /// What commands get a part of.
    pub environment: Environment,
}

impl Default for CommandConfig {
    fn default() -> Self {
        Self {
            instance: "rouse".to_owned(),
            timeout: Duration::from_secs(600),
            hidden: Vec::new(),
            network: HttpConfig::default(),
            environment: Environment::of_this_process(),
        }
    }
}

/// The tool.
pub(crate) struct RunCommand {
    spec: ToolSpec,
    config: CommandConfig,
    calls: AtomicU64,
    sandbox: Arc<Probe>,
    /// What a test does between the last look and the beginning of the command.
    #[cfg(test)]
    after_look: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    command: String,
    cwd: Option<String>,
    timeout_seconds: Option<u64>,
}

impl RunCommand {
    pub(crate) fn new(config: CommandConfig) -> Self {
        let description = "Runs a command line in the system's shell; returns exitCode, stdout, stderr, and json where stdout is JSON. \
             What it leaves running ends with it.";
        let parameters = spec::object(
            &["command"],
            json!({
                "command": { "type": "string", "minLength": 1, "maxLength": 8_192 },
                "cwd": { "type": "string", "description": "Default: the workspace.", "minLength": 1, "maxLength": 4_096 },
                "timeoutSeconds": { "type": "integer", "minimum": 1, "maximum": LONGEST_SECONDS },
            }),
        );
        let harmless = spec::harmless(("run_command", "Run a command"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::ANYTHING,
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 30, per_hour: 300 },
            call_for: Duration::from_secs(LONGEST_SECONDS + 60),
            domain: Domain::Container,
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: vec!["command".to_owned()],
            ..harmless
        };
        Self {
            spec,
            config,
            calls: AtomicU64::new(0),
            sandbox: Arc::new(Probe::of(sandbox::available)),
            #[cfg(test)]
            after_look: None,
        }
    }

    /// How long the command may take. What a model wishes for loosens no limit of its person.
    fn limit(&self, arguments: &Arguments, sandbox: &SandboxMode) -> Duration {
        let usual = self.config.timeout;
        let wished = arguments.timeout_seconds.map_or(usual, Duration::from_secs);
        match sandbox {
            SandboxMode::ByPersonUnsandboxed { .. } => wished,
            SandboxMode::Sandboxed { .. } | SandboxMode::OpenedByPerson { .. } => wished.min(usual),
        }
    }

    async fn run(
        &self,
        arguments: Arguments,
        to: Option<Surroundings>,
        context: &ToolContext,
    ) -> Result<ToolOutput, CommandError> {
        one_that_is_read(&arguments.command)?;
        let (arguments, sealed) = self.last_look(arguments, to, context).await?;
        let runs_copies = !sealed.is_empty();
        #[cfg(test)]
        self.after_look.iter().for_each(|act| act());
        let limit = self.limit(&arguments, &context.sandbox);
        // A mark of its own for each call: two calls of one run must not end each other.
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}:{}:{call}", self.config.instance, context.run_id);
        let child = match &context.sandbox {
            SandboxMode::Sandboxed { hosts } => {
                self.confined(&arguments, context, (hosts, sealed), &mark).await?
            }
            SandboxMode::ByPersonUnsandboxed { .. } | SandboxMode::OpenedByPerson { .. } => {
                self.unconfined(&arguments, context, &mark)?
            }
        };
        let child = child.leaving(&context.loose_ends);
        let finished = child.finish(limit).await.map_err(CommandError::Lost)?;
        if runs_copies && was_replaced(&finished) {
            return Err(CommandError::Replaced);
        }
        Ok(outcome(&finished, limit))
    }

    async fn confined(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        (hosts, sealed): (&[String], Vec<Sealed>),
        mark: &str,
    ) -> Result<Child, CommandError> {
        let sandbox = room(arguments, context)?;
        let (hosts, hidden) = (hosts.to_vec(), self.config.hidden.clone());
        let sandbox = Sandbox { hosts, hidden, sealed, ..sandbox };
        #[cfg(windows)]
        let sandbox = sandbox.prepared().await?;
        let variables = passed(&self.config.environment, context).chain(about(context));
        let fetcher = Fetcher::new(&self.config.network);
        Ok(sandbox.spawn(&arguments.command, variables, mark, fetcher)?)
    }

    fn unconfined(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        mark: &str,
    ) -> Result<Child, CommandError> {
        let folder = folder(arguments.cwd.as_deref(), &context.workspace)?;
        let variables = passed(&self.config.environment, context).chain(about(context));
        let mut command = shell::on(&arguments.command);
        command.current_dir(folder).env_clear().envs(variables);
        Child::spawn(command, mark).map_err(CommandError::Start)
    }

    /// What a yes is bound to is held against what is there, at the last moment; answers what is run from a copy.
    async fn last_look(
        &self,
        arguments: Arguments,
        to: Option<Surroundings>,
        context: &ToolContext,
    ) -> Result<(Arguments, Vec<Sealed>), CommandError> {
        let Some(to) = to else { return Ok((arguments, Vec::new())) };
        let (context, environment) = (context.clone(), self.config.environment.clone());
        let look = move || {
            let sealed = held::hold(&arguments, &context, &environment, &to)?;
            Ok((arguments, sealed))
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(Err(CommandError::Look))
    }
}

/// Why a command was not run to its end.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("The folder {} is not there.", .0.display())]
    NoFolder(PathBuf),
    #[error(
        "The shell of Windows runs the first line only, so nothing was run. Join the commands with && in one line, or write them into a .cmd file and call that."
    )]
    ManyLines,
    #[error("The command could not be started: {0}.")]
    Start(#[source] io::Error),
    #[error("How it ended is not known: {0}.")]
    Lost(#[source] io::Error),
    #[error(
        "What the command works with has changed since it was allowed ({0}), so it was not run. Call it again to have it judged anew."
    )]
    Changed(String),
    #[error("A file that the command runs was replaced while it was at work, so it was ended.")]
    Replaced,
    #[error("The last look at what the command works with fell over. Nothing was run.")]
    Look,
}

impl Faulty for CommandError {
    fn fault(&self) -> Fault {
        match self {
            Self::Sandbox(SandboxError::Missing(_) | SandboxError::Workspace { .. }) => {
                Fault::Sandbox
            }
            Self::Sandbox(SandboxError::Folder { .. }) | Self::Changed(_) | Self::Replaced => {
                Fault::NotAuthorised
            }
            Self::Sandbox(SandboxError::Path { .. }) | Self::ManyLines => Fault::InvalidParameters,
            Self::Sandbox(SandboxError::Start(_))
            | Self::NoFolder(_)
            | Self::Start(_)
            | Self::Lost(_)
            | Self::Look => Fault::Execution,
        }
    }
}

/// Whether the sandbox has ended it because a copy did not stay in its place.
#[cfg(target_os = "linux")]
fn was_replaced(finished: &Finished) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = |status: &ExitStatus| status.signal();
    matches!(&finished.end, End::Exited(status) if signal(status) == Some(crate::sandbox::REPLACED))
}

#[cfg(not(target_os = "linux"))]
const fn was_replaced(_: &Finished) -> bool {
    false
}

/// The sandbox of this call; its folder lies in the workspace.
fn room(arguments: &Arguments, context: &ToolContext) -> Result<Sandbox, SandboxError> {
    let at_home = arguments.cwd.as_deref().and_then(from_home).map(|cwd| cwd.display().to_string());
    Sandbox::new(&context.workspace, at_home.as_deref().or(arguments.cwd.as_deref()))
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let command = arguments["command"].as_str().unwrap_or_default();
        command.trim().is_empty().then(|| "/command: must not be empty or only spaces".to_owned())
    }

    /// Out of the sandbox each call is asked for, unless a person has written it.
    fn approval(&self, _: &Value, context: &ToolContext) -> ApprovalRule {
        self.usual_approval(&context.sandbox)
    }

    fn usual_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        match sandbox {
            SandboxMode::OpenedByPerson { .. } => ApprovalRule::Always,
            SandboxMode::Sandboxed { .. } | SandboxMode::ByPersonUnsandboxed { .. } => {
                self.spec.approval
            }
        }
    }

    fn why_not_here<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        Box::pin(Arc::clone(&self.sandbox).why_not(sandbox))
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let shown = match arguments::read::<Arguments>(arguments) {
            Ok(arguments) => {
                let wished = arguments.timeout_seconds;
                let limit = wished.map(|_| self.limit(&arguments, &context.sandbox));
                shown(&arguments, context, limit)
            }
            Err(error) => visible(&format!("{error}\n\n{arguments:#}")),
        };
        Box::pin(std::future::ready(shown))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let (context, environment) = (context.clone(), self.config.environment.clone());
        let sandbox = Arc::clone(&self.sandbox);
        // Nobody is asked about a command that could not be run after a yes either.
        let look = move |arguments: Arguments| {
            if is_confined(&context.sandbox) {
                sandbox.holds()?;
            }
            one_that_is_read(&arguments.command)?;
            bound(&arguments, &context, &environment)
        };
        Box::pin(answer::aside(arguments, look))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::read(call.arguments()) {
                Ok(arguments) => {
                    let run = self.run(arguments, call.bound().cloned(), context).await;
                    run.unwrap_or_else(|error| answer::refused(&error))
                }
                Err(error) => answer::failed(Fault::InvalidParameters, error),
            }
        })
    }
}

/// What is said of the command is a line each, whatever its folder is called.
fn shown(arguments: &Arguments, context: &ToolContext, limit: Option<Duration>) -> String {
    let how = visible_line(&confinement(&context.sandbox));
    let workspace = context.workspace.display();
    let place = match arguments.cwd.as_deref().filter(|cwd| *cwd != ".") {
        Some(cwd) => format!("in the folder {cwd} of {workspace}"),
        None => format!("in {workspace}"),
    };
    let limit = limit
        .map_or_else(String::new, |limit| format!("\nfor at most {} seconds", limit.as_secs_f64()));
    format!("{}\n\n{}\n{how}{limit}", visible(&arguments.command), visible_line(&place))
}

fn bound(
    arguments: &Arguments,
    context: &ToolContext,
    environment: &Environment,
) -> Result<Surroundings, CommandError> {
    let is_confined = is_confined(&context.sandbox);
    let folder = if is_confined {
        room(arguments, context)?.folder
    } else {
        folder(arguments.cwd.as_deref(), &context.workspace)?
    };
    // What is no text is written out, behind a letter that no environment holds, so that two of them are never one.
    let text = |text: OsString| text.into_string().unwrap_or_else(|raw| format!("\0{raw:?}"));
    // Each run has another number; what it decides is none of the command's business.
    let told = about(context).filter(|(name, _)| name != RUN_ID);
    let variables = passed(environment, context).chain(told);
    let environment: BTreeMap<String, String> =
        variables.map(|(name, value)| (text(name), text(value))).collect();
    let named = Named { folder: &folder, workspace: &context.workspace, is_confined };
    let bound = named.bound(&arguments.command);
    let ungranted = named.unheld(&arguments.command, &bound);
    let Bound { files, replaces, .. } = bound;
    let confinement = Some(confinement(&context.sandbox));
    let here = Surroundings::in_folder(&folder);
    Ok(Surroundings { confinement, environment, files, replaces, ungranted, ..here })
}

fn outcome(finished: &Finished, limit: Duration) -> ToolOutput {
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    let mut value = json!({ "stdout": stdout.trim_end(), "stderr": stderr.trim_end() });
    if finished.stdout.is_cut() || finished.stderr.is_cut() {
        value["truncated"] = true.into();
    }
    let (fault, how) = match &finished.end {
        End::Exited(status) if status.success() => {
            value["exitCode"] = 0.into();
            let words = if stdout.trim().is_empty() { "Done." } else { stdout.trim() };
            if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&stdout)
            {
                value["json"] = parsed;
            }
            return answer::done(value).in_words(words);
        }
        End::Exited(status) => {
            value["exitCode"] = status.code().into();
            (Fault::Execution, ended(*status))
        }
        End::TimedOut => {
            let seconds = limit.as_secs_f64();
            (Fault::Timeout, format!("Did not end within {seconds} s and was ended"))
        }
        End::WroteTooMuch => (Fault::Execution, "Wrote more than 64 MB and was ended".to_owned()),
        End::OverBound(how) => (Fault::Execution, how.clone()),
    };
    failure(fault, &how, value)
}

/// A failure whose words begin with how it ended and the last thing that it said.
fn failure(fault: Fault, how: &str, written: Value) -> ToolOutput {
    let said = |stream: &str| written[stream].as_str().unwrap_or_default().trim().to_owned();
    let said =
        Some(said("stderr")).filter(|said| !said.is_empty()).unwrap_or_else(|| said("stdout"));
    let (error, words) = match said.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => {
            let error = format!("{how}: {}", last.trim());
            let is_all = last.trim() == said.trim();
            (error.clone(), if is_all { error } else { format!("{error}\n\n{said}") })
        }
        None => (format!("{how}."), format!("{how}.")),
    };
    let mut output = answer::failed(fault, error).in_words(&words);
    if let (Value::Object(fields), Value::Object(written)) = (&mut output.value, written) {
        fields.extend(written);
    }
    output
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Ended by signal {signal}"),
        (None, None) => "Ended without success".to_owned(),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "Ended without success".to_owned(), |code| format!("Exit code {code}"))
}

/// A line of which the shell would leave something out is not run.
fn one_that_is_read(line: &str) -> Result<(), CommandError> {
    shell::reads_whole(line).then_some(()).ok_or(CommandError::ManyLines)
}

fn folder(cwd: Option<&str>, workspace: &Path) -> Result<PathBuf, CommandError> {
    let folder = match cwd.map(|cwd| (cwd, from_home(cwd))) {
        None => workspace.to_owned(),
        Some((_, Some(at_home))) => at_home,
        // An absolute path takes the place of what it is joined to.
        Some((cwd, None)) => workspace.join(cwd),
    };
    if folder.is_dir() { Ok(folder) } else { Err(CommandError::NoFolder(folder)) }
}
