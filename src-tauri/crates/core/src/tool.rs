//! The tool port: what a model, or a `toolCall` job, can call.
//!
//! A tool never decides its own permission: it only declares how it wants to be judged. It receives an `ApprovedCall`,
//! which only `policy` can make, so a tool cannot be reached around the gate.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::approval::Surroundings;
use crate::attachment::Attachment;
use crate::job::FolderGrant;
use crate::policy::ApprovedCall;
use crate::schedule::Zone;
use crate::skills::SkillInRun;
use crate::visible::visible;
use crate::{Clock, JobId, RunId, UnixMs};

/// A future that a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Unique name.
    pub name: String,
    /// What it does in a few words for people ("Read a file"), shown beside its name; none where nobody has said it.
    pub label: Option<String>,
    /// What it does, for the model and the catalogue.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// What its calls do to the world.
    pub annotations: Annotations,
    /// How a call is judged when the tool says nothing finer of it (`Tool::approval`).
    pub approval: ApprovalRule,
    /// Where it runs.
    pub domain: Domain,
    /// How often it may be called.
    pub rate: RateLimit,
    /// How long one call may take.
    pub call_for: Duration,
    /// Whether its output is text from outside, to be fenced in the context.
    pub untrusted_output: bool,
    /// Parameters whose values are hidden where a call is shown or journalled, by their paths (`hidden`).
    pub sensitive: Vec<String>,
    /// Parameters whose values a shell reads, so that only exactly the same text is the same call.
    pub shell_text: Vec<String>,
    /// Whether only a turn that a person has started may call it: it is neither offered nor let through while nobody
    /// is there.
    pub attended_only: bool,
    /// Whether only a job that lists it is offered it: a model manages without, and each tool costs tokens in every request.
    pub listed_only: bool,
}

impl ToolSpec {
    /// The arguments of a call as they are shown and journalled.
    #[must_use]
    pub fn shown(&self, arguments: &Value) -> Value {
        crate::hidden::without(arguments, &self.sensitive)
    }

    /// Whether doing a call again after a crash is harmless.
    #[must_use]
    pub const fn is_repeatable(&self) -> bool {
        self.annotations.is_repeatable()
    }
}

/// What the calls of a tool do to the world, in the words of the Model Context Protocol's tool annotations. What a tool
/// says of itself can only make the gate stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or overwrite what was there.
    pub destructive: bool,
    /// Doing the same call again changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
}

impl Annotations {
    /// Whether doing such a call again after a crash is harmless.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        self.read_only || self.idempotent
    }

    /// Looks, and changes nothing, on this machine.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds something, each time anew.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Sets something to what it is told, over what was there.
    pub const OVERWRITES: Self =
        Self { read_only: false, destructive: true, idempotent: true, open_world: false };
    /// May do anything to anything.
    pub const ANYTHING: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// Most calls of a tool, by all runs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// In any minute.
    pub per_minute: u32,
    /// In any hour.
    pub per_hour: u32,
}

impl RateLimit {
    /// What a tool may do that costs nothing and reaches nobody.
    pub const USUAL: Self = Self { per_minute: 60, per_hour: 1_000 };

    /// As often as anybody likes.
    pub const NONE: Self = Self { per_minute: u32::MAX, per_hour: u32::MAX };
}

/// How a tool's call is judged, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalRule {
    /// Runs without asking.
    Never,
    /// Asks unless a grant covers the call.
    UnlessGranted,
    /// Always asks; no grant can cover it.
    Always,
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// In this process.
    InProcess,
    /// In a sandboxed child process.
    Container,
}

/// How a call that starts a program is confined. It comes from the job, as the person has written it, and never from the
/// arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxMode {
    /// In the sandbox, or not at all.
    Sandboxed {
        /// The hosts that the job grants; without any there is no network.
        hosts: Vec<String>,
    },
    /// With the person's own rights, because the person has written the call itself.
    ByPersonUnsandboxed {
        /// The hosts that the job grants: nobody is asked about the call, so not even it goes beside them.
        hosts: Vec<String>,
    },
    /// With the person's own rights although no person has written the call, because the person has opened the sandbox
    /// for this job: each call is asked for.
    OpenedByPerson {
        /// The hosts that the job grants.
        hosts: Vec<String>,
    },
}

impl SandboxMode {
    /// The hosts that the job grants, to its commands and to `http` alike; none when it names none.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        match self {
            Self::Sandboxed { hosts }
            | Self::OpenedByPerson { hosts }
            | Self::ByPersonUnsandboxed { hosts } => hosts,
        }
    }
}

/// What calls have left behind that is still coming to an end: a command that was asked to end may take a moment.
/// Whoever drops the future of a call waits for this before it calls the call over. Clones share it.
#[derive(Clone, Default)]
pub struct LooseEnds(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl LooseEnds {
    /// Leaves something behind that is over when `end` is.
    pub fn add(&self, end: BoxFuture<'static, ()>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    }

    /// Takes out what was left behind so far.
    #[must_use]
    pub fn take(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The one host that a call's arguments are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// A name in small letters, an IPv4 address, or an IPv6 address in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether nobody on the way can read along.
    pub is_encrypted: bool,
}

/// What a tool may know of the run that calls it.
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
    /// How a command is confined.
    pub sandbox: SandboxMode,
    /// The hosts of the URLs that the person has written into the task: to look at them is what was asked for.
    pub named_hosts: Vec<String>,
    /// The folders beside the workspace that the job grants.
    pub folders: Vec<FolderGrant>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The job's zone.
    pub zone: Zone,
    /// The skills that the run was told of.
    pub skills: Vec<SkillInRun>,
    /// What fired the run, for a command that a person has written: text from outside (`Cause::told`).
    pub event: Option<String>,
    /// When the question about this very call was asked, where a person is asked about it.
    pub asked_at: Option<UnixMs>,
    /// Where a call that is dropped leaves what has yet to end.
    pub loose_ends: LooseEnds,
}

impl ToolContext {
    /// The instant from which a time such as `20m` counts: what a person is shown is what is made, however late they
    /// answer.
    #[must_use]
    pub fn counts_from(&self) -> UnixMs {
        self.asked_at.unwrap_or_else(|| self.clock.now())
    }
}

/// The most bytes of one output that a model is told.
pub const TOLD_BYTES: usize = 64 << 10;

/// What a tool answers, as it came: what a model is told of it, and how long it took, are the gate's to say. A fault is told
/// to the model, which may mend it; it does not end the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The result: a text, or any JSON.
    pub value: Value,
    /// What went wrong, when something did.
    pub fault: Option<Fault>,
    /// What the call cost beside the model, when it is known.
    pub cost_micro_usd: Option<u64>,
    /// What the run is asked to do beside.
    pub effect: Option<ToolEffect>,
    /// The result as a person reads it, where that differs from the value.
    pub words: Option<String>,
    /// Images and PDFs for a model that takes them. The value names each.
    pub attachments: Vec<Attachment>,
}

/// What went wrong with a call; the value says it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The arguments do not fit.
    InvalidParameters,
    /// It was tried and did not work.
    Execution,
    /// It took too long.
    Timeout,
    /// It may not be done in this run.
    NotAuthorised,
    /// It was done too often.
    RateLimited {
        /// When it may be done again.
        retry_after: Duration,
    },
    /// Somebody else's service failed.
    ExternalService,
    /// Somebody else's service was not reached, so it knows nothing of the call.
    Unreached,
    /// Somebody else's service has said no, and would say so again.
    Refused,
    /// There is no safe place to do it in.
    Sandbox,
}

impl Fault {
    /// Whether the same call may go well at another time, with nothing changed but what is outside of Rouse.
    #[must_use]
    pub const fn may_pass(self) -> bool {
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

/// What a tool asks of the run; tools hold no handles of other rooms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEffect {
    /// Put a notification into the outbox.
    Notify {
        /// First line; the job's name when absent.
        title: Option<String>,
        /// The text.
        body: String,
    },
    /// End the run with this outcome.
    Complete {
        /// Which ending.
        outcome: Completion,
        /// In words.
        summary: String,
    },
}

/// The endings that `complete_run` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// There is something to tell.
    Report,
    /// There is nothing to tell.
    NothingToReport,
    /// The task could not be done.
    Failed,
}

impl ToolOutput {
    /// A result.
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

    /// A call that was tried and did not work: what happened and what to do.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::faulty(Fault::Execution, message)
    }

    /// A fault of this kind: what happened and what to do.
    #[must_use]
    pub fn faulty(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault: Some(fault), ..Self::ok(message.into()) }
    }

    /// Whether something went wrong.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        self.fault.is_some()
    }

    /// The same output with other words for a person.
    #[must_use]
    pub fn in_words(self, words: &str) -> Self {
        Self { words: Some(words.to_owned()), ..self }
    }

    /// The same output with an effect.
    #[must_use]
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// The value as text for a model or a person: a text as it is, other JSON written out.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Something that can be called.
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// How this call is judged; its arguments fit the schema.
    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        let _ = (arguments, context);
        self.spec().approval
    }
    /// Why a call with these arguments can never be made, though they fit the schema: an empty command, a URL without a scheme.
    /// A job with such a call is refused when it is saved. Looks at nothing but the arguments.
    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }
    /// How its calls are judged in a run that is confined like this, when a call says nothing finer.
    fn usual_approval(&self, sandbox: &SandboxMode) -> ApprovalRule {
        let _ = sandbox;
        self.spec().approval
    }
    /// Why no call of it can be made in a run that is confined like this, and what a person can do; none when one can.
    fn why_not_here<'a>(&'a self, sandbox: &'a SandboxMode) -> BoxFuture<'a, Option<String>> {
        let _ = sandbox;
        Box::pin(std::future::ready(None))
    }
    /// Whether what it needs is set up. A tool that is not set up is offered to no model; `why_not_here` says what to do.
    fn is_set_up(&self) -> bool {
        true
    }
    /// What this call does to the world, where its arguments say it finer than the spec.
    fn annotations(&self, arguments: &Value) -> Annotations {
        let _ = arguments;
        self.spec().annotations
    }
    /// Whether this call carries what the run knows to somebody whom no person has named for it.
    fn sends_out(&self, arguments: &Value, context: &ToolContext) -> bool {
        let _ = context;
        self.annotations(arguments).open_world
    }
    /// What would happen, for the person who is asked; nothing is cut off, and what cannot be seen is shown.
    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let _ = context;
        Box::pin(std::future::ready(visible(&format!("{arguments:#}"))))
    }
    /// What beside its arguments decides what this call does, as it is now; or why the call could not be made at all.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let _ = (arguments, context);
        Box::pin(std::future::ready(Ok(Surroundings::default())))
    }
    /// Where this call sends its arguments, when that is one host and no other sees them. Secrets go only there.
    fn destination(&self, arguments: &Value) -> Option<Destination> {
        let _ = arguments;
        None
    }
    /// Whether all that it does with its arguments is to write them into files of the workspace. The value of a stored
    /// secret that stands in them goes nowhere else then, and a person can be asked about it.
    fn writes_here(&self) -> bool {
        false
    }
    /// What this call will cost beside the model, when that is known.
    fn estimated_cost_micro_usd(&self, arguments: &Value) -> Option<u64> {
        let _ = arguments;
        None
    }
    /// Does it. The future is dropped when the run is cancelled or runs out of time; what does not end with it goes into
    /// the context's `loose_ends`.
    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}
