//! `run_command`: one command line in the system's shell.
//!
//! A command runs in the sandbox (`sandbox`, `room`), unless the context says that a person has written exactly this call
//! into a job: then it can do whatever the person can do, like a line in a crontab. Which of the two it is never stands in the
//! arguments, and there is no way from the one to the other: a sandbox that cannot be had is an error. Where a person has
//! opened the sandbox for a job, each call that no person has written is asked for, and no grant covers it. What it gets of the
//! environment is a list (`environment`), a shorter one in the sandbox.
//! A command that fails is an error whose words begin with how; one that succeeds answers what it wrote, and as JSON too
//! where it wrote JSON. What a yes is bound to beside the line (`named`) is its folder, its environment and the content
//! of the files that it names, or that its programs read unnamed; `held` holds the call to it until the command has begun.
//! A line that runs more than what can be bound gets no standing yes (`unheld`).

mod confined;
mod card;
mod environment;
mod held;
mod interpreters;
mod line;
mod named;
mod outcome;
mod programs;
mod room;
mod script;
mod shell;
mod unheld;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Domain, Fault, RateLimit, SandboxMode, Tool, ToolContext,
    ToolOutput, ToolSpec,
};
use rouse_core::visible::visible;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, Faulty};
use crate::child::{Child, Finished};
use crate::http::{Fetcher, HttpConfig};
use crate::sandbox::{self, Sandbox, SandboxError, Sealed};
use crate::workspace::{from_home, home};
use crate::{arguments, spec};
use confined::{Probe, confinement, is_confined};
pub use environment::Environment;
use environment::{RUN_ID, about, passed};
use named::{Bound, Named};
use outcome::outcome;
use room::Rooms;
pub use room::{private_homes, remove_homes_without_job};

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
    /// The folder with the private home of each job's commands; without one, a command's home is `/tmp`.
    pub homes: Option<PathBuf>,
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
            homes: None,
            network: HttpConfig::default(),
            environment: Environment::of_this_process(),
        }
    }
}

/// The tool.
pub(crate) struct RunCommand {
    spec: ToolSpec,
    config: CommandConfig,
    rooms: Rooms,
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
        let description = "Runs a command line in the system's shell; returns exitCode, stdout, stderr, and json where stdout is JSON. Sandboxed unless the job says otherwise: writes go to the workspace, HOME (private, kept), /tmp (deleted afterwards) and granted folders; others fail. No network but the job's hosts. Background processes end with it.";
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
        let rooms = Rooms { hidden: config.hidden.clone().into(), homes: config.homes.clone() };
        Self {
            spec,
            config,
            rooms,
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
        let sandbox = is_confined(&context.sandbox).then(|| self.rooms.of(&arguments, context));
        let sandbox = sandbox.transpose()?.map(|sandbox| Sandbox { sealed, ..sandbox });
        let told = sandbox.as_ref().map(room::told);
        let child = match sandbox {
            Some(sandbox) => self.confined(&arguments, context, sandbox, &mark).await?,
            None => self.unconfined(&arguments, context, &mark)?,
        };
        let child = child.leaving(&context.loose_ends);
        let finished = child.finish(limit).await.map_err(CommandError::Lost)?;
        if runs_copies && was_replaced(&finished) {
            return Err(CommandError::Replaced);
        }
        Ok(outcome(&finished, limit, told))
    }

    async fn confined(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        sandbox: Sandbox,
        mark: &str,
    ) -> Result<Child, CommandError> {
        let home = sandbox.home.as_deref().map(room::create_home);
        home.transpose().map_err(CommandError::Home)?;
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

    fn surrounding(&self) -> Surrounding {
        Surrounding { rooms: self.rooms.clone(), environment: self.config.environment.clone() }
    }

    /// What a yes is bound to is held against what is there, at the last moment; answers what is run from a copy.
    async fn last_look(
        &self,
        arguments: Arguments,
        to: Option<Surroundings>,
        context: &ToolContext,
    ) -> Result<(Arguments, Vec<Sealed>), CommandError> {
        let Some(to) = to else { return Ok((arguments, Vec::new())) };
        let (context, surrounding) = (context.clone(), self.surrounding());
        let look = move || {
            let sealed = held::hold(&arguments, &context, &surrounding, &to)?;
            Ok((arguments, sealed))
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(Err(CommandError::Look))
    }
}

/// What calls have around them, whatever their arguments.
struct Surrounding {
    rooms: Rooms,
    environment: Environment,
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
    #[error("The home of this job's commands could not be created: {0}. Nothing was run.")]
    Home(#[source] io::Error),
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
            Self::Sandbox(SandboxError::Folder { .. } | SandboxError::Granted(_))
            | Self::Changed(_)
            | Self::Replaced => Fault::NotAuthorised,
            Self::Sandbox(SandboxError::Path { .. }) | Self::ManyLines => Fault::InvalidParameters,
            Self::Sandbox(SandboxError::Start(_))
            | Self::NoFolder(_)
            | Self::Start(_)
            | Self::Home(_)
            | Self::Lost(_)
            | Self::Look => Fault::Execution,
        }
    }
}

/// Whether the sandbox has ended it because a copy did not stay in its place.
#[cfg(target_os = "linux")]
fn was_replaced(finished: &Finished) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let replaced = Some(crate::sandbox::REPLACED);
    matches!(&finished.end, crate::child::End::Exited(status) if status.signal() == replaced)
}

#[cfg(not(target_os = "linux"))]
const fn was_replaced(_: &Finished) -> bool {
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
        let read = arguments::read::<Arguments>(arguments);
        Box::pin(async move {
            let arguments = match read {
                Ok(arguments) => arguments,
                Err(error) => return visible(&format!("{error}\n\n{arguments:#}")),
            };
            let wished = arguments.timeout_seconds;
            let limit = wished.map(|_| self.limit(&arguments, &context.sandbox));
            let (rooms, context) = (self.rooms.clone(), context.clone());
            let look = move || card::card(&arguments, &context, &rooms, limit);
            let shown = tokio::task::spawn_blocking(look).await;
            shown.expect("BUG: describing a command does not panic")
        })
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let (context, surrounding) = (context.clone(), self.surrounding());
        let sandbox = Arc::clone(&self.sandbox);
        // Nobody is asked about a command that could not be run after a yes either.
        let look = move |arguments: Arguments| {
            if is_confined(&context.sandbox) {
                sandbox.holds()?;
            }
            one_that_is_read(&arguments.command)?;
            bound(&arguments, &context, &surrounding)
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

/// Where the words of a line are looked for.
fn named(
    arguments: &Arguments,
    context: &ToolContext,
    rooms: &Rooms,
) -> Result<Named, CommandError> {
    if is_confined(&context.sandbox) {
        let room = rooms.of(arguments, context)?;
        let (roots, home) = (room::roots(&room), room.home);
        return Ok(Named { folder: room.folder, roots, home, is_confined: true });
    }
    let folder = folder(arguments.cwd.as_deref(), &context.workspace)?;
    let workspace = context.workspace.canonicalize().unwrap_or(context.workspace.clone());
    Ok(Named { folder, roots: vec![workspace], home: home(), is_confined: false })
}

fn bound(
    arguments: &Arguments,
    context: &ToolContext,
    around: &Surrounding,
) -> Result<Surroundings, CommandError> {
    let named = named(arguments, context, &around.rooms)?;
    // What is no text is written out, behind a letter that no environment holds, so that two of them are never one.
    let text = |text: OsString| text.into_string().unwrap_or_else(|raw| format!("\0{raw:?}"));
    // Each run has another number; what it decides is none of the command's business.
    let told = about(context).filter(|(name, _)| name != RUN_ID);
    let variables = passed(&around.environment, context).chain(told);
    let environment: BTreeMap<String, String> =
        variables.map(|(name, value)| (text(name), text(value))).collect();
    let bound = named.bound(&arguments.command);
    let ungranted = named.unheld(&arguments.command, &bound);
    let Bound { files, replaces, .. } = bound;
    let confinement = Some(confinement(context));
    let here = Surroundings::in_folder(&named.folder);
    Ok(Surroundings { confinement, environment, files, replaces, ungranted, ..here })
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
