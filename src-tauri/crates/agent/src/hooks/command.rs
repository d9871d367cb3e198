//! A hook that is a command of the person's: JSON in, JSON out, in its time.
//!
//! It gets one line of JSON on its standard input: `{"hook": "before_tool_call", …}` with the fields of the event. One
//! that is told may say what it likes. One that is asked answers with nothing, which is a yes, or with one JSON object:
//! `{"decision": "allow" | "deny" | "ask" | "rewrite", "reason": …, "arguments": …}` to a call, and
//! `{"decision": "allow" | "deny" | "rewrite", "reason": …, "title": …, "body": …}` to a delivery. Another exit status than
//! 0, another answer and a time limit that is over are failures.
//!
//! It runs in a process group of its own, which ends with it and with its time (`group`), in the data directory, and
//! without the environment of Rouse but for a short list: keys of providers are not for it. It is a command out of the
//! person's settings file, with the person's rights; no client can set one.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::depth::{LEVELS, fits};
use rouse_core::said::SAID;
use rouse_core::tool::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::events::{CallEnded, CallSeen, DeliverySeen, RunEnded, RunSeen, ToolsResolved};
use super::group::{Group, HookPlace};
use super::record::{HookReport, Recorder};
use super::{CallAnswer, DeliveryAnswer, Hook, HookError, HookPoint, Told};

/// The most bytes of an answer.
const MOST_BYTES: u64 = 1 << 20;

/// The most characters of what a command complains about.
const COMPLAINT: usize = 200;

/// What a command of the person's finds in its environment, as far as it is set.
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

/// A hook as the settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The step at which it runs.
    pub on: HookPoint,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A hook that runs a command.
pub struct CommandHook {
    name: String,
    command: HookCommand,
    place: HookPlace,
    clock: Arc<dyn Clock>,
    record: Recorder,
}

impl CommandHook {
    /// A hook that runs `command` at `place`.
    #[must_use]
    pub fn new(command: HookCommand, place: HookPlace, clock: Arc<dyn Clock>) -> Self {
        let name = command.command.join(" ");
        Self { name, command, place, clock, record: Recorder::default() }
    }

    /// Runs it for `event` and reads its answer; none when it is for another step.
    async fn answer<T>(
        &self,
        at: HookPoint,
        event: &impl Serialize,
        read: impl FnOnce(&[u8]) -> Result<T, HookError>,
    ) -> Result<Option<T>, HookError> {
        if self.command.on != at {
            return Ok(None);
        }
        let began = self.clock.monotonic();
        let answer = self.run(at, event).await.and_then(|bytes| read(&bytes));
        self.record.add(self.clock.as_ref(), began, answer.as_ref().err());
        answer.map(Some)
    }

    async fn run(&self, at: HookPoint, event: &impl Serialize) -> Result<Vec<u8>, HookError> {
        let input = line(at, event)?;
        let running = self.finish(input);
        match tokio::time::timeout(self.command.timeout, running).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Err(HookError(format!("it could not be run: {error}"))),
            Err(_) => Err(HookError(format!("it took longer than {:?}", self.command.timeout))),
        }
    }

    /// Its answer. Whoever stops waiting ends it.
    async fn finish(&self, input: Vec<u8>) -> io::Result<Result<Vec<u8>, HookError>> {
        let [program, arguments @ ..] = self.command.command.as_slice() else {
            return Ok(Err(HookError("it names no program".to_owned())));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.place.folder)
            .env_clear()
            .envs(environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = Group::spawn(command, &self.place)?;
        let (mut stdin, stdout, stderr) = group.take_pipes();
        let said = async move {
            // Whoever does not read its input has said what it wants to say without.
            drop(stdin.write_all(&input).await);
            drop(stdin);
        };
        let (_, stdout, stderr, status) =
            tokio::join!(said, read(stdout), read(stderr), group.wait());
        let status = status?;
        if status.success() {
            return Ok(Ok(stdout?));
        }
        let complaint: String =
            String::from_utf8_lossy(&stderr?).trim().chars().take(COMPLAINT).collect();
        let said = match complaint.is_empty() {
            true => String::new(),
            false => format!(".{SAID}{complaint}"),
        };
        Ok(Err(HookError(format!("it ended with {status}{said}"))))
    }

    async fn tell(&self, at: HookPoint, event: &impl Serialize) -> Result<(), HookError> {
        self.answer(at, event, |_| Ok(())).await.map(drop)
    }
}

fn environment() -> impl Iterator<Item = (&'static str, OsString)> {
    VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// The event as one line.
fn line(at: HookPoint, event: &impl Serialize) -> Result<Vec<u8>, HookError> {
    let wrong = |error: serde_json::Error| HookError(format!("its event is no JSON: {error}"));
    let mut whole = json!({ "hook": at.name() });
    if let (Value::Object(whole), Value::Object(fields)) =
        (&mut whole, serde_json::to_value(event).map_err(wrong)?)
    {
        whole.extend(fields);
    }
    let mut line = serde_json::to_vec(&whole).map_err(wrong)?;
    line.push(b'\n');
    Ok(line)
}

async fn read(from: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bounded = from.take(MOST_BYTES);
    bounded.read_to_end(&mut bytes).await?;
    // The rest is read away, so that nobody waits at a full pipe.
    tokio::io::copy(&mut bounded.into_inner(), &mut tokio::io::sink()).await?;
    Ok(bytes)
}

/// What a command answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    decision: Decision,
    #[serde(default)]
    reason: String,
    arguments: Option<Value>,
    title: Option<String>,
    body: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Deny,
    Ask,
    Rewrite,
}

fn answer_in(bytes: &[u8]) -> Result<Option<Answer>, HookError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let answer = serde_json::from_slice(bytes);
    answer.map(Some).map_err(|error| HookError(format!("its answer cannot be read: {error}")))
}

fn about_call(bytes: &[u8]) -> Result<CallAnswer, HookError> {
    let Some(answer) = answer_in(bytes)? else { return Ok(CallAnswer::Allow) };
    match answer.decision {
        Decision::Allow => Ok(CallAnswer::Allow),
        Decision::Deny => Ok(CallAnswer::Deny(answer.reason)),
        Decision::Ask => Ok(CallAnswer::Ask(answer.reason)),
        Decision::Rewrite => match answer.arguments {
            Some(arguments) if fits(&arguments, LEVELS) => Ok(CallAnswer::Rewrite(arguments)),
            Some(_) => {
                let words = format!("its arguments are nested more than {LEVELS} levels deep");
                Err(HookError(words))
            }
            None => Err(HookError("it rewrites without arguments".to_owned())),
        },
    }
}

fn about_delivery(bytes: &[u8], delivery: &DeliverySeen) -> Result<DeliveryAnswer, HookError> {
    let Some(answer) = answer_in(bytes)? else { return Ok(DeliveryAnswer::Allow) };
    match answer.decision {
        Decision::Allow => Ok(DeliveryAnswer::Allow),
        Decision::Deny => Ok(DeliveryAnswer::Suppress(answer.reason)),
        Decision::Ask => Err(HookError("a delivery cannot be asked for".to_owned())),
        Decision::Rewrite => Ok(DeliveryAnswer::Rewrite {
            title: answer.title.unwrap_or_else(|| delivery.title.clone()),
            body: answer.body.unwrap_or_else(|| delivery.body.clone()),
        }),
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn report(&self) -> Option<HookReport> {
        Some(HookReport { hook: self.command.clone(), record: self.record.so_far() })
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> Told<'h> {
        Box::pin(self.tell(HookPoint::AfterToolsResolved, event))
    }

    fn before_tool_call<'h>(
        &'h self,
        call: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        Box::pin(async move {
            let answer = self.answer(HookPoint::BeforeToolCall, call, about_call).await?;
            Ok(answer.unwrap_or(CallAnswer::Allow))
        })
    }

    fn after_tool_call<'h>(&'h self, call: &'h CallEnded) -> Told<'h> {
        Box::pin(self.tell(HookPoint::AfterToolCall, call))
    }

    fn run_started<'h>(&'h self, run: &'h RunSeen) -> Told<'h> {
        Box::pin(self.tell(HookPoint::RunStarted, run))
    }

    fn run_finished<'h>(&'h self, run: &'h RunEnded) -> Told<'h> {
        Box::pin(self.tell(HookPoint::RunFinished, run))
    }

    fn before_delivery<'h>(
        &'h self,
        delivery: &'h DeliverySeen,
    ) -> BoxFuture<'h, Result<DeliveryAnswer, HookError>> {
        Box::pin(async move {
            let read = |bytes: &[u8]| about_delivery(bytes, delivery);
            let answer = self.answer(HookPoint::BeforeDelivery, delivery, read).await?;
            Ok(answer.unwrap_or(DeliveryAnswer::Allow))
        })
    }
}
