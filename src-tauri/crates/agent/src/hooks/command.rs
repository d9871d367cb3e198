//! A hook that is a command of the settings.
//!
//! Owns the protocol. The input is a line of JSON: `{"hook": "before_tool_call", …}` with the fields of the event. The
//! output of a notified hook is ignored. A consulted hook answers with nothing, which means allow, or with a JSON
//! object: `{"decision": "allow" | "deny" | "ask" | "rewrite", "reason": …, "arguments": …}` about a call, and
//! `{"decision": "allow" | "deny" | "rewrite", "reason": …, "title": …, "body": …}` about a delivery. Another exit
//! status than 0, another output and a timeout are failures.
//!
//! The command runs in the data directory with the person's rights; only the settings file can name a command. The
//! environment is a short allow list: never pass on Rouse's own, which may hold provider keys.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::Arc;

use rouse_core::Clock;
use rouse_core::settings::HookPoint;
use rouse_core::text::QUOTE_MARK;
use rouse_core::text::{MAX_DEPTH, is_within_depth};
use rouse_core::tool::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::events::{
    DeliveryEvent, RunFinishedEvent, RunStartedEvent, ToolCallEnded, ToolCallEvent, ToolsResolved,
};
use super::hook::{
    DeliveryDecision, Hook, HookCommand, HookDecision, HookError, HookNotification, HookReport,
};
use super::process::{HookProcess, HookProcessConfig};
use super::statistics::StatisticsCollector;

/// The longest output, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;

/// The longest part of the error output in a failure, in characters.
const MAX_ERROR: usize = 200;

/// The environment variables that a command inherits.
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SystemRoot",
    "ComSpec",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "USERNAME",
];

/// A hook that runs a command.
pub struct CommandHook {
    name: String,
    command: HookCommand,
    config: HookProcessConfig,
    clock: Arc<dyn Clock>,
    statistics: StatisticsCollector,
}

impl CommandHook {
    /// A hook that runs `command` with this `config`.
    #[must_use]
    pub fn new(command: HookCommand, config: HookProcessConfig, clock: Arc<dyn Clock>) -> Self {
        let name = command.command.join(" ");
        Self { name, command, config, clock, statistics: StatisticsCollector::default() }
    }

    /// Runs the command for `event` and parses the output; none if the command is for another point.
    async fn call<T>(
        &self,
        point: HookPoint,
        event: &impl Serialize,
        parse: impl FnOnce(&[u8]) -> Result<T, HookError>,
    ) -> Result<Option<T>, HookError> {
        if self.command.on != point {
            return Ok(None);
        }
        let began = self.clock.monotonic();
        let result = self.run(point, event).await.and_then(|output| parse(&output));
        let problem = result.as_ref().err().map(ToString::to_string);
        self.statistics.add(self.clock.as_ref(), began, problem);
        result.map(Some)
    }

    async fn notify(&self, point: HookPoint, event: &impl Serialize) -> Result<(), HookError> {
        self.call(point, event, |_| Ok(())).await.map(drop)
    }

    async fn run(&self, point: HookPoint, event: &impl Serialize) -> Result<Vec<u8>, HookError> {
        let input = event_line(point, event)?;
        let timeout = self.command.timeout;
        match tokio::time::timeout(timeout, self.run_process(input)).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => Err(HookError(format!("the program could not be run: {error}"))),
            Err(_) => Err(HookError(format!("timed out after {timeout:?}"))),
        }
    }

    /// The output of the command. Dropping the future kills the process.
    async fn run_process(&self, input: Vec<u8>) -> io::Result<Result<Vec<u8>, HookError>> {
        let [program, arguments @ ..] = self.command.command.as_slice() else {
            return Ok(Err(HookError("no program is set".to_owned())));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.config.folder)
            .env_clear()
            .envs(environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = HookProcess::spawn(command, &self.config)?;
        let (mut stdin, stdout, stderr) = process.take_pipes();
        let write_input = async move {
            // A command may ignore the input.
            drop(stdin.write_all(&input).await);
            drop(stdin);
        };
        let (_, stdout, stderr, status) =
            tokio::join!(write_input, read_bounded(stdout), read_bounded(stderr), process.wait());
        let status = status?;
        if status.success() {
            return Ok(Ok(stdout?));
        }
        let error: String =
            String::from_utf8_lossy(&stderr?).trim().chars().take(MAX_ERROR).collect();
        let error = if error.is_empty() { error } else { format!(".{QUOTE_MARK}{error}") };
        Ok(Err(HookError(format!("ended with {status}{error}"))))
    }
}

fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// The event as a line of JSON.
fn event_line(point: HookPoint, event: &impl Serialize) -> Result<Vec<u8>, HookError> {
    let invalid = |error: serde_json::Error| HookError(format!("the event is no JSON: {error}"));
    let mut whole = json!({ "hook": point.name() });
    if let (Value::Object(whole), Value::Object(fields)) =
        (&mut whole, serde_json::to_value(event).map_err(invalid)?)
    {
        whole.extend(fields);
    }
    let mut line = serde_json::to_vec(&whole).map_err(invalid)?;
    line.push(b'\n');
    Ok(line)
}

/// The first [`MAX_OUTPUT`] bytes. Reads to the end, so that the writer never blocks at a full pipe.
async fn read_bounded(from: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bounded = from.take(MAX_OUTPUT);
    bounded.read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut bounded.into_inner(), &mut tokio::io::sink()).await?;
    Ok(bytes)
}

/// The output of a consulted command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookOutput {
    decision: DecisionName,
    #[serde(default)]
    reason: String,
    arguments: Option<Value>,
    title: Option<String>,
    body: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DecisionName {
    Allow,
    Deny,
    Ask,
    Rewrite,
}

fn parse_output(bytes: &[u8]) -> Result<Option<HookOutput>, HookError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let output = serde_json::from_slice(bytes);
    output.map(Some).map_err(|error| HookError(format!("the answer cannot be read: {error}")))
}

fn parse_call_decision(bytes: &[u8]) -> Result<HookDecision, HookError> {
    let Some(output) = parse_output(bytes)? else { return Ok(HookDecision::Allow) };
    match output.decision {
        DecisionName::Allow => Ok(HookDecision::Allow),
        DecisionName::Deny => Ok(HookDecision::Deny(output.reason)),
        DecisionName::Ask => Ok(HookDecision::RequireApproval(output.reason)),
        DecisionName::Rewrite => match output.arguments {
            Some(arguments) if is_within_depth(&arguments, MAX_DEPTH) => {
                Ok(HookDecision::Rewrite(arguments))
            }
            Some(_) => {
                let text = format!("the arguments are nested more than {MAX_DEPTH} levels deep");
                Err(HookError(text))
            }
            None => Err(HookError("a rewrite without arguments".to_owned())),
        },
    }
}

fn parse_delivery_decision(
    bytes: &[u8],
    delivery: &DeliveryEvent,
) -> Result<DeliveryDecision, HookError> {
    let Some(output) = parse_output(bytes)? else { return Ok(DeliveryDecision::Allow) };
    match output.decision {
        DecisionName::Allow => Ok(DeliveryDecision::Allow),
        DecisionName::Deny => Ok(DeliveryDecision::Suppress(output.reason)),
        DecisionName::Ask => Err(HookError(
            "`ask` is not a decision for before_delivery; use allow, deny or rewrite".to_owned(),
        )),
        DecisionName::Rewrite => Ok(DeliveryDecision::Rewrite {
            title: output.title.unwrap_or_else(|| delivery.title.clone()),
            body: output.body.unwrap_or_else(|| delivery.body.clone()),
        }),
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn report(&self) -> Option<HookReport> {
        Some(HookReport { hook: self.command.clone(), statistics: self.statistics.snapshot() })
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> HookNotification<'h> {
        Box::pin(self.notify(HookPoint::AfterToolsResolved, event))
    }

    fn before_tool_call<'h>(
        &'h self,
        call: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        Box::pin(async move {
            let decision = self.call(HookPoint::BeforeToolCall, call, parse_call_decision).await?;
            Ok(decision.unwrap_or(HookDecision::Allow))
        })
    }

    fn after_tool_call<'h>(&'h self, call: &'h ToolCallEnded) -> HookNotification<'h> {
        Box::pin(self.notify(HookPoint::AfterToolCall, call))
    }

    fn run_started<'h>(&'h self, run: &'h RunStartedEvent) -> HookNotification<'h> {
        Box::pin(self.notify(HookPoint::RunStarted, run))
    }

    fn run_finished<'h>(&'h self, run: &'h RunFinishedEvent) -> HookNotification<'h> {
        Box::pin(self.notify(HookPoint::RunFinished, run))
    }

    fn before_delivery<'h>(
        &'h self,
        delivery: &'h DeliveryEvent,
    ) -> BoxFuture<'h, Result<DeliveryDecision, HookError>> {
        Box::pin(async move {
            let parse = |output: &[u8]| parse_delivery_decision(output, delivery);
            let decision = self.call(HookPoint::BeforeDelivery, delivery, parse).await?;
            Ok(decision.unwrap_or(DeliveryDecision::Allow))
        })
    }
}
