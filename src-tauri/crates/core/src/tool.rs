//! The tool port: what a model, or a `toolCall` job, can call.
//!
//! A tool never decides its own permission: it only declares how it wants to be judged. It receives an `ApprovedCall`,
//! which only `policy` can make, so a tool cannot be reached around the gate.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::policy::ApprovedCall;
use crate::schedule::Zone;
use crate::{Clock, JobId, RunId};

/// A future that a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Unique name.
    pub name: String,
    /// What it does, for the model and the catalogue.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// Whether repeating it after a crash is harmless.
    pub repeatable: bool,
    /// How it is judged.
    pub approval: ApprovalRule,
    /// Where it runs.
    pub domain: Domain,
    /// Most calls a minute.
    pub calls_per_minute: u32,
    /// How long one call may take.
    pub call_for: Duration,
    /// Whether its output is text from outside, to be fenced in the context.
    pub untrusted_output: bool,
}

/// How a tool's call is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// With the person's own rights, because the person has written so.
    ByPersonUnsandboxed,
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
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The job's zone.
    pub zone: Zone,
}

/// What a tool answers. An error is told to the model, which may mend it; it does not end the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The result: a text, or any JSON.
    pub value: Value,
    /// Whether it is an error.
    pub is_error: bool,
    /// What the run is asked to do beside.
    pub effect: Option<ToolEffect>,
    /// The result as a person reads it, where that differs from the value.
    pub words: Option<String>,
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
        Self { value: value.into(), is_error: false, effect: None, words: None }
    }

    /// An error that the caller may mend: what happened and what to do.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self { value: Value::String(message.into()), is_error: true, effect: None, words: None }
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
    /// Does it. The future is dropped when the run is cancelled or runs out of time.
    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}
