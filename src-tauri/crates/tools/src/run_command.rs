//! `run_command`: one command line in the system's shell.
//!
//! A command runs in the sandbox (`sandbox`), unless the context says that a person has written exactly this call into a
//! job: then it can do whatever the person can do, like a line in a crontab. Which of the two it is never stands in the
//! arguments, and there is no way from the one to the other: a sandbox that cannot be had is an error. It asks before it
//! is called, and as yet there is nobody to ask, which is why no model is offered it. What it gets of the environment is
//! a list, a shorter one in the sandbox, so that keys of model providers and the like stay where they are. A command that
//! fails is an error whose first line says how; one that succeeds answers what it wrote, and as JSON too where it wrote
//! JSON.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Domain, RateLimit, SandboxMode, Tool, ToolContext,
    ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::child::{Child, End, Finished};
use crate::http::{Fetcher, HttpConfig};
use crate::sandbox::Sandbox;
use crate::{arguments, spec};

/// The longest time limit that can be asked for: a day.
const LONGEST_SECONDS: u64 = 86_400;

/// What a command is told of the environment, where it is set.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "ROUSE_HOME",
    // Windows does not find its own parts without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// What a confined command is told of it. Its home is its own, and the desktop, the agents of keys and Rouse are not
/// there for it.
const PASSED_INSIDE: &[&str] = &["PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ"];

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
}

impl Default for CommandConfig {
    fn default() -> Self {
        Self {
            instance: "rouse".to_owned(),
            timeout: Duration::from_secs(600),
            hidden: Vec::new(),
            network: HttpConfig::default(),
        }
    }
}

/// The tool.
pub(crate) struct RunCommand {
    spec: ToolSpec,
    config: CommandConfig,
    calls: AtomicU64,
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
        let description = "Runs one command line in the system's shell, in the workspace unless cwd says otherwise, and returns \
             exitCode, stdout, stderr, and json where stdout is JSON. A command that fails is an error. Whatever it leaves \
             running in the background is ended with it.";
        let parameters = spec::object(
            &["command"],
            json!({
                "command": { "type": "string", "description": "As in a terminal.", "minLength": 1, "maxLength": 8_192 },
                "cwd": { "type": "string", "description": "The folder: relative to the workspace, absolute, or beginning with ~/.", "minLength": 1, "maxLength": 4_096 },
                "timeoutSeconds": { "type": "integer", "description": "Ends it after so long.", "minimum": 1, "maximum": LONGEST_SECONDS },
            }),
        );
        let harmless = spec::harmless("run_command", description, parameters);
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
        Self { spec, config, calls: AtomicU64::new(0) }
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<ToolOutput, String> {
        let limit = arguments.timeout_seconds.map_or(self.config.timeout, Duration::from_secs);
        // A mark of its own for each call: two calls of one run must not end each other.
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}:{}:{call}", self.config.instance, context.run_id);
        let child = match &context.sandbox {
            SandboxMode::Sandboxed { hosts } => self.confined(&arguments, context, hosts, &mark)?,
            SandboxMode::ByPersonUnsandboxed => unconfined(&arguments, context, &mark)?,
        };
        let finished = child.finish(limit).await;
        let finished = finished.map_err(|error| format!("How it ended is not known: {error}."))?;
        outcome(&finished, limit)
    }

    fn confined(
        &self,
        arguments: &Arguments,
        context: &ToolContext,
        hosts: &[String],
        mark: &str,
    ) -> Result<Child, String> {
        let sandbox = Sandbox::new(&context.workspace, arguments.cwd.as_deref());
        let sandbox = sandbox.map_err(|error| error.to_string())?;
        let sandbox =
            Sandbox { hosts: hosts.to_vec(), hidden: self.config.hidden.clone(), ..sandbox };
        let inside = [("TMPDIR", "/tmp"), ("SHELL", "/bin/sh")];
        let variables = passed_on(PASSED_INSIDE)
            .chain(inside.map(|(name, value)| (name.into(), value.into())))
            .chain(about(context));
        let fetcher = Fetcher::new(&self.config.network);
        sandbox
            .spawn(&arguments.command, variables, mark, fetcher)
            .map_err(|error| error.to_string())
    }
}

fn unconfined(arguments: &Arguments, context: &ToolContext, mark: &str) -> Result<Child, String> {
    let folder = folder(arguments.cwd.as_deref(), &context.workspace)?;
    let mut command = shell(&arguments.command);
    command.current_dir(folder).env_clear().envs(passed_on(PASSED_ON)).envs(about(context));
    Child::spawn(command, mark)
        .map_err(|error| format!("The command could not be started: {error}."))
}

/// What a command is told of its run.
fn about(context: &ToolContext) -> impl Iterator<Item = (OsString, OsString)> {
    let job = context.job_id.as_ref().map(|job| ("ROUSE_JOB_ID", job.as_str()));
    [("ROUSE_JOB_NAME", context.job_name.as_str()), ("ROUSE_RUN_ID", context.run_id.as_str())]
        .into_iter()
        .chain(job)
        .map(|(name, value)| (name.into(), value.into()))
}

impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let run = match arguments::read(&call) {
                Ok(arguments) => self.run(arguments, context).await,
                Err(error) => Err(error),
            };
            run.unwrap_or_else(ToolOutput::error)
        })
    }
}

fn outcome(finished: &Finished, limit: Duration) -> Result<ToolOutput, String> {
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    let how = match &finished.end {
        End::Exited(status) if status.success() => {
            let words = if stdout.trim().is_empty() { "Done." } else { stdout.trim() };
            let mut value = json!({ "success": true, "exitCode": 0, "stdout": stdout.trim_end(), "stderr": stderr.trim_end() });
            if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&stdout)
            {
                value["json"] = parsed;
            }
            if finished.stdout.is_cut() || finished.stderr.is_cut() {
                value["truncated"] = true.into();
            }
            return Ok(ToolOutput::ok(value).in_words(words));
        }
        End::Exited(status) => ended(*status),
        End::TimedOut => format!("Did not end within {} s and was ended", limit.as_secs()),
        End::WroteTooMuch => "Wrote more than 64 MB and was ended".to_owned(),
    };
    let said = if stderr.trim().is_empty() { stdout.trim() } else { stderr.trim() };
    Err(match said.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("{how}: {}\n\n{said}", line.trim()),
        None => format!("{how}."),
    })
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

fn folder(cwd: Option<&str>, workspace: &Path) -> Result<PathBuf, String> {
    let folder = match cwd.map(|cwd| (cwd, cwd.strip_prefix("~/"))) {
        None => workspace.to_owned(),
        Some((_, Some(in_home))) => home().ok_or("There is no home folder here.")?.join(in_home),
        // An absolute path takes the place of what it is joined to.
        Some((cwd, None)) => workspace.join(cwd),
    };
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(format!("The folder {} is not there.", folder.display()))
    }
}

fn home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)
}

fn passed_on(list: &'static [&'static str]) -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        list.iter().any(|passed| name.eq_ignore_ascii_case(passed)) || name.starts_with("LC_")
    })
}

#[cfg(unix)]
fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// `/s` with outer quotes hands the line over as it is (cmd /?).
#[cfg(windows)]
fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/d").raw_arg(format!("/s /c \"{line}\""));
    command
}

#[cfg(all(test, unix))]
mod tests {
    use rouse_core::policy::{ToolPolicy, Verdict};

    use super::*;
    use crate::testing::context;

    async fn run(arguments: Value) -> ToolOutput {
        let folder = tempfile::tempdir().expect("a folder");
        run_in(folder.path(), arguments).await
    }

    async fn run_in(workspace: &Path, arguments: Value) -> ToolOutput {
        // Tests run side by side in one process, each with an instance of its own.
        let instance = format!("run-command-tests:{}", workspace.display());
        let tool = RunCommand::new(CommandConfig { instance, ..CommandConfig::default() });
        let policy = ToolPolicy::of_a_persons_call("run_command", &arguments);
        match policy.judge(tool.spec(), arguments) {
            Verdict::Allowed(call) => tool.call(call, &context(workspace)).await,
            Verdict::Denied(reason) => panic!("denied: {reason}"),
        }
    }

    fn error(output: &ToolOutput) -> String {
        assert!(output.is_error(), "{output:?}");
        output.text()
    }

    #[tokio::test]
    async fn what_it_wrote_is_the_result() {
        let output = run(json!({ "command": "echo 42; echo aside >&2" })).await;
        assert_eq!(
            output.value,
            json!({ "success": true, "exitCode": 0, "stdout": "42", "stderr": "aside" })
        );
        assert_eq!(output.words.as_deref(), Some("42"));
        let output = run(json!({ "command": r#"echo '{"percent": 17}'"# })).await;
        assert_eq!(output.value["json"], json!({ "percent": 17 }));
    }

    #[tokio::test]
    async fn a_failure_says_how_in_its_first_line() {
        let output = run(json!({ "command": "echo first >&2; echo last >&2; exit 3" })).await;
        assert_eq!(error(&output), "Exit code 3: last\n\nfirst\nlast");
        assert_eq!(error(&run(json!({ "command": "exit 4" })).await), "Exit code 4.");
        assert_eq!(error(&run(json!({ "command": "kill -9 $$" })).await), "Ended by signal 9.");
    }

    #[tokio::test]
    async fn it_runs_in_the_workspace_or_where_it_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("there");
        std::fs::create_dir(real.join("sub")).expect("made");
        for (cwd, expected) in [(None, real.clone()), (Some("sub"), real.join("sub"))] {
            let output = run_in(&real, json!({ "command": "pwd -P", "cwd": cwd })).await;
            let output = match cwd {
                Some(_) => output,
                None => run_in(&real, json!({ "command": "pwd -P" })).await,
            };
            assert_eq!(output.value["stdout"], json!(expected.display().to_string()));
        }
        let output = run_in(&real, json!({ "command": "pwd", "cwd": "nowhere" })).await;
        assert!(error(&output).contains("is not there"), "{output:?}");
    }

    #[tokio::test]
    async fn it_gets_a_list_of_the_environment() {
        let output = run(json!({ "command": "env" })).await;
        let text = output.value["stdout"].as_str().expect("a text").to_owned();
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        assert!(names.contains(&"PATH"), "{names:?}");
        assert!(text.contains("ROUSE_JOB_NAME=Test"), "{text}");
        // Cargo sets this for every test; it stands for everything that is not on the list.
        assert!(std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("CARGO")));
        assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
    }

    /// How the call ends for whoever is no person: in the sandbox, or with a sentence on why not.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_no_person_has_written_runs_in_the_sandbox_or_not_at_all() {
        let (folder, data) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let config =
            CommandConfig { hidden: vec![data.path().to_owned()], ..CommandConfig::default() };
        let tool = RunCommand::new(config);
        let confined = ToolContext {
            sandbox: SandboxMode::Sandboxed { hosts: Vec::new() },
            ..context(folder.path())
        };
        let run = async |arguments: Value| {
            let policy = ToolPolicy::of_a_persons_call("run_command", &arguments);
            match policy.judge(tool.spec(), arguments) {
                Verdict::Allowed(call) => tool.call(call, &confined).await,
                Verdict::Denied(reason) => panic!("denied: {reason}"),
            }
        };
        let line = format!("touch ran; ls -d '{}'; env; [ -z \"$CARGO\" ]", data.path().display());
        let output = run(json!({ "command": line })).await;
        if let Err(missing) = crate::sandbox::available() {
            assert!(error(&output).contains("Nothing was run"), "{output:?} {missing}");
            assert!(!folder.path().join("ran").exists());
            return;
        }
        assert!(!output.is_error(), "{output:?}");
        let said = output.value["stdout"].as_str().expect("a text");
        assert!(said.contains("ROUSE_JOB_NAME=Test") && said.contains("TMPDIR=/tmp"), "{said}");
        for name in ["ROUSE_HOME=", "DBUS_", "SSH_", "XDG_", "DISPLAY", "CARGO"] {
            assert!(!said.contains(name), "{said}");
        }
        assert!(output.value["stderr"].as_str().is_some_and(|text| text.contains("No such file")));
        let outside = run(json!({ "command": "true", "cwd": data.path() })).await;
        assert!(error(&outside).contains("can only begin in the workspace"), "{outside:?}");
        // No argument names the mode.
        let schema = tool.spec().parameters.to_string();
        assert!(
            !schema.contains("sandbox") && schema.contains("\"additionalProperties\":false"),
            "{schema}"
        );
    }

    #[tokio::test]
    async fn it_is_ended_after_its_time_and_when_it_never_stops_writing() {
        let output = run(json!({ "command": "sleep 1000", "timeoutSeconds": 1 })).await;
        assert_eq!(error(&output), "Did not end within 1 s and was ended.");
        let output = run(json!({ "command": "yes" })).await;
        let first = error(&output).lines().next().map(str::to_owned);
        assert_eq!(first.as_deref(), Some("Wrote more than 64 MB and was ended: y"));
    }

    #[tokio::test]
    async fn nobody_else_may_call_it() {
        let tool = RunCommand::new(CommandConfig::default());
        let call = json!({ "command": "true" });
        assert!(!ToolPolicy::default().offers(tool.spec()), "no model is offered it");
        let judged = |policy: ToolPolicy| policy.judge(tool.spec(), call.clone());
        assert!(matches!(judged(ToolPolicy::default()), Verdict::Denied(_)));
        let other = ToolPolicy::of_a_persons_call("run_command", &json!({ "command": "false" }));
        assert!(
            matches!(judged(other), Verdict::Denied(_)),
            "another call than the one written down"
        );
        let own = ToolPolicy::of_a_persons_call("run_command", &call);
        assert!(matches!(judged(own), Verdict::Allowed(_)));
    }
}
