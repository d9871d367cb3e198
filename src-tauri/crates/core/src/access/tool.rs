//! The tool port: functions that a model or a `toolCall` job can call.
//!
//! Owns the declaration of a tool and the context of a call. A tool never decides permission; it declares an approval
//! rule and receives an `ApprovedCall`, which only `policy` makes, so no call bypasses the gate.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::approval::Surroundings;
use crate::attachment::Attachment;
use crate::call_progress::ProgressReporter;
use crate::extension::ToolOrigin;
pub use crate::future::BoxFuture;
use crate::input_request::InputRequest;
use crate::job::FolderGrant;
use crate::policy::ApprovedCall;
use crate::schedule::Zone;
use crate::skills::SkillInRun;
use crate::text::escape_invisible;
use crate::tool_search::SearchableTool;
use crate::{Clock, JobId, RunId, UnixMs};

/// The declaration of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Unique name.
    pub name: String,
    /// A short label for people ("Read a file"); none when there is none.
    pub label: Option<String>,
    /// The description for the model and the catalogue.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// The side effects of the calls.
    pub annotations: Annotations,
    /// The approval rule; `Tool::approval` may refine the rule for a call.
    pub approval: ApprovalRule,
    /// The place of execution.
    pub domain: ToolDomain,
    /// The rate limit.
    pub rate: RateLimit,
    /// The timeout of a call.
    pub call_for: Duration,
    /// Whether the output is untrusted input, to be fenced in the context.
    pub untrusted_output: bool,
    /// Paths of parameters whose values are redacted in every displayed or journalled call.
    pub sensitive: Vec<String>,
    /// Parameters that a shell reads; a difference in any of these makes a different call.
    pub shell_text: Vec<String>,
    /// Whether only an attended turn may call the tool.
    pub attended_only: bool,
    /// Whether the tool is offered only to jobs that list it. Each offered tool costs tokens in every request.
    pub listed_only: bool,
    /// The server of the tool; none for a built-in tool.
    pub origin: Option<ToolOrigin>,
}

impl ToolSpec {
    /// The arguments in the form for surfaces and the journal.
    #[must_use]
    pub fn shown(&self, arguments: &Value) -> Value {
        crate::redaction::redact_arguments(arguments, &self.sensitive)
    }

    /// Whether repeating a call after a crash is harmless.
    #[must_use]
    pub const fn is_repeatable(&self) -> bool {
        self.annotations.is_repeatable()
    }
}

/// The side effects of a tool's calls, as in the tool annotations of MCP. Annotations can only make the gate stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotations {
    /// No side effects.
    pub read_only: bool,
    /// May delete or overwrite.
    pub destructive: bool,
    /// Repeating the call has no further effect.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

impl Annotations {
    /// Whether repeating such a call after a crash is harmless.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        self.read_only || self.idempotent
    }

    /// Reads on this machine.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds something with every call.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Overwrites with the given value.
    pub const OVERWRITES: Self =
        Self { read_only: false, destructive: true, idempotent: true, open_world: false };
    /// Any side effect.
    pub const ANYTHING: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// The maximum calls of a tool, over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Per minute.
    pub per_minute: u32,
    /// Per hour.
    pub per_hour: u32,
}

impl RateLimit {
    /// For tools without cost and without egress.
    pub const USUAL: Self = Self { per_minute: 60, per_hour: 1_000 };

    /// No limit.
    pub const NONE: Self = Self { per_minute: u32::MAX, per_hour: u32::MAX };
}

/// The approval rule of a tool or a call, strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalRule {
    /// No approval needed.
    Never,
    /// Approval needed unless a grant covers the call.
    UnlessGranted,
    /// Approval needed every time; no grant counts.
    Always,
}

/// The place of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ToolDomain {
    /// In this process.
    InProcess,
    /// In a sandboxed child process.
    Container,
}

/// The confinement of a call that starts a program. Set by the job, never by the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxMode {
    /// Sandboxed; refused where no sandbox is available.
    Sandboxed {
        /// The reachable hosts; no network when empty.
        hosts: Vec<String>,
    },
    /// With the person's own rights, for a call that the person wrote.
    ByPersonUnsandboxed {
        /// The hosts that the job grants. These limit even this call, because it needs no approval.
        hosts: Vec<String>,
    },
    /// With the person's own rights, because the job's policy opens the sandbox. Needs approval for every call.
    OpenedByPerson {
        /// The hosts that the job grants.
        hosts: Vec<String>,
    },
}

impl SandboxMode {
    /// The granted hosts, for commands and `http` alike.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        match self {
            Self::Sandboxed { hosts }
            | Self::OpenedByPerson { hosts }
            | Self::ByPersonUnsandboxed { hosts } => hosts,
        }
    }
}

/// Cleanup that outlives a dropped call, such as a process that is being terminated. The dropper awaits it before the call
/// counts as ended. Clones share the list.
#[derive(Clone, Default)]
pub struct PendingCleanup(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl PendingCleanup {
    /// Adds cleanup that is complete when `end` is.
    pub fn add(&self, end: BoxFuture<'static, ()>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    }

    /// Removes and returns the cleanup so far.
    #[must_use]
    pub fn take(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The only host that receives the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// A lowercase name, an IPv4 address, or an IPv6 address in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
}

/// The facts about the run that a tool may know.
#[derive(Clone)]
pub struct ToolContext {
    /// The run.
    pub run_id: RunId,
    /// The job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// The job's name.
    pub job_name: String,
    /// The folder that file tools may see.
    pub workspace: PathBuf,
    /// The confinement of commands.
    pub sandbox: SandboxMode,
    /// Hosts of the URLs in the person's task; reading from these hosts needs no approval.
    pub named_hosts: Vec<String>,
    /// The folders beside the workspace that the job grants.
    pub folders: Vec<FolderGrant>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The job's zone.
    pub zone: Zone,
    /// The skills in the run's context.
    pub skills: Vec<SkillInRun>,
    /// The cause of the run as JSON, for a command that the person wrote. Untrusted input.
    pub event: Option<String>,
    /// When approval of this call was requested, if at all.
    pub requested_at: Option<UnixMs>,
    /// Takes cleanup that outlives the call.
    pub pending_cleanup: PendingCleanup,
    /// The tools that the run may call and is not offered until a search finds them.
    pub searchable_tools: Arc<[SearchableTool]>,
    /// Takes the progress of the call.
    pub progress: ProgressReporter,
}

impl ToolContext {
    /// The base of relative times such as `20m`: the instant of the request, so the approved preview stays true.
    #[must_use]
    pub fn counts_from(&self) -> UnixMs {
        self.requested_at.unwrap_or_else(|| self.clock.now())
    }
}

/// The maximum bytes of an output in the context.
pub const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// The raw result of a call. The gate bounds, fences and times the result. A fault goes to the model and does not end
/// the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// A text or any JSON.
    pub value: Value,
    /// The fault, if the call failed.
    pub fault: Option<Fault>,
    /// The cost beside the model, when known.
    pub cost_micro_usd: Option<u64>,
    /// A request to the run.
    pub effect: Option<ToolEffect>,
    /// The result for people, when different from the value.
    pub words: Option<String>,
    /// Images and PDFs for models with file input. The value names each file.
    pub attachments: Vec<Attachment>,
}

/// The kind of a failure; the value holds the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The arguments are invalid.
    InvalidParameters,
    /// Execution failed.
    Execution,
    /// Timed out.
    Timeout,
    /// Not allowed in this run.
    NotAuthorised,
    /// Over the rate limit.
    RateLimited {
        /// Time until the next permitted call.
        retry_after: Duration,
    },
    /// An external service failed.
    ExternalService,
    /// An external service was not reached, so the call had no effect.
    Unreached,
    /// An external service refused permanently.
    Refused,
    /// No sandbox is available.
    Sandbox,
}

impl Fault {
    /// Whether the same call may succeed later without a change in Rouse.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        match self {
            Self::Execution
            | Self::Timeout
            | Self::RateLimited { .. }
            | Self::ExternalService
            | Self::Unreached => true,
            Self::InvalidParameters | Self::NotAuthorised | Self::Refused | Self::Sandbox => false,
        }
    }
}

/// A request of a tool to the run. Tools hold no handles of other rooms.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEffect {
    /// Send a notification.
    Notify {
        /// The first line; the job's name when none.
        title: Option<String>,
        /// The text.
        body: String,
    },
    /// End the run.
    Complete {
        /// The outcome.
        outcome: Completion,
        /// The summary.
        summary: String,
    },
    /// Ask the person for input. The call is not finished: the gate makes it again with the answer.
    RequestInput(Box<InputRequest>),
}

/// The outcomes that `complete_run` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// A report.
    Report,
    /// Nothing to report.
    NothingToReport,
    /// The task failed.
    Failed,
}

impl ToolOutput {
    /// A successful result.
    #[must_use]
    pub fn ok(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            fault: None,
            cost_micro_usd: None,
            effect: None,
            words: None,
            attachments: Vec::new(),
        }
    }

    /// A failed execution; the message has the cause and the remedy.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::faulty(Fault::Execution, message)
    }

    /// A fault of this kind; the message has the cause and the remedy.
    #[must_use]
    pub fn faulty(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault: Some(fault), ..Self::ok(message.into()) }
    }

    /// Whether the call failed.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        self.fault.is_some()
    }

    /// The same with this text for people.
    #[must_use]
    pub fn in_words(self, words: &str) -> Self {
        Self { words: Some(words.to_owned()), ..self }
    }

    /// The same with an effect.
    #[must_use]
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// The value as text: a text unchanged, other JSON serialised.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// A tool.
pub trait Tool: Send + Sync {
    /// The declaration.
    fn spec(&self) -> &ToolSpec;
    /// The approval rule of this call. The arguments match the schema.
    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        let _ = (arguments, context);
        self.spec().approval
    }
    /// Why a call with these arguments can never succeed although they match the schema (an empty command, a URL without a
    /// scheme). A job with such a call is refused when saved.
    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }
    /// The usual approval rule of the calls under this confinement.
    fn default_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        let _ = sandbox;
        self.spec().approval
    }
    /// Why no call is possible under this confinement, with the remedy; none when calls are possible.
    fn unavailable_reason<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        let _ = sandbox;
        Box::pin(std::future::ready(None))
    }
    /// Whether the prerequisites are set up. Otherwise no model is offered the tool; `unavailable_reason` has the
    /// remedy.
    fn is_set_up(&self) -> bool {
        true
    }
    /// The side effects of this call, if the arguments are more precise than the declaration.
    fn annotations(&self, arguments: &Value) -> Annotations {
        let _ = arguments;
        self.spec().annotations
    }
    /// Whether this call sends data of the run to a host that the person did not name.
    fn has_egress(&self, arguments: &Value, context: &ToolContext) -> bool {
        let _ = context;
        self.annotations(arguments).open_world
    }
    /// The effect of the call in words for an approval, never shortened, with invisible characters escaped.
    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let _ = context;
        Box::pin(std::future::ready(escape_invisible(&format!("{arguments:#}"))))
    }
    /// The present surroundings of the call, or why the call is impossible.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let _ = (arguments, context);
        Box::pin(std::future::ready(Ok(Surroundings::default())))
    }
    /// The only receiver of the arguments; none when there are several or none. Secrets go only there.
    fn destination(&self, arguments: &Value) -> Option<Destination> {
        let _ = arguments;
        None
    }
    /// The expected cost beside the model, when known.
    fn estimated_cost_micro_usd(&self, arguments: &Value) -> Option<u64> {
        let _ = arguments;
        None
    }
    /// Executes the call. The future is dropped on cancel and timeout; cleanup that outlives it goes into the context's
    /// `pending_cleanup`.
    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}
