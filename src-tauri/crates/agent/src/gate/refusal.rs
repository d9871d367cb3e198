//! A refused call: the kind of the refusal, and the text.
//!
//! Owns the fault of a refusal, which follows from the kind. Pitfall: deriving the kind from the fault; a tool that was
//! called may report the same fault.

use std::time::Duration;

use rouse_core::approval::{GateDecision, Refusal};
use rouse_core::policy::Denial;
use rouse_core::tool::{Fault, ToolOutput};

use crate::safety::Safety;

/// The longest name of a hook or secret in the journal, in characters.
const NAME_LENGTH: usize = 200;

/// A call that is not made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallRefusal {
    pub(super) kind: Refusal,
    /// The result for the model and the journal.
    pub(super) output: ToolOutput,
    /// The hook that rewrote the call.
    pub(super) rewritten_by: Option<String>,
}

impl CallRefusal {
    pub(crate) fn new(kind: Refusal, text: impl Into<String>) -> Self {
        let output = ToolOutput::faulty(fault_of(&kind), text);
        Self { kind, output, rewritten_by: None }
    }

    /// The tool itself refuses the call, with a reason.
    pub(super) fn by_tool(output: ToolOutput) -> Self {
        let kind = match output.fault {
            Some(Fault::Sandbox) => Refusal::NoSandbox,
            _ => Refusal::Impossible,
        };
        Self { kind, output, rewritten_by: None }
    }

    /// The tool is over its rate limit for another `wait`.
    pub(super) fn rate_limited(tool: &str, wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000);
        let text = format!(
            "{tool} was called too often. Call the tool again in {seconds} seconds, or continue without it."
        );
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self::new(Refusal::RateLimited { wait_ms }, text)
    }

    /// How long the rate limit lasts; none for any other refusal.
    pub(super) fn rate_limit_wait(&self) -> Option<Duration> {
        match self.kind {
            Refusal::RateLimited { wait_ms } => {
                u64::try_from(wait_ms).ok().map(Duration::from_millis)
            }
            _ => None,
        }
    }

    /// The decision for the journal, with stored secrets redacted.
    pub(super) fn decision(&self, safety: &Safety) -> GateDecision {
        let kind = match self.kind.clone() {
            Refusal::Denied { reason } => {
                Refusal::Denied { reason: reason.map(|reason| safety.redact_stored(&reason)) }
            }
            Refusal::Secret { name } => Refusal::Secret { name: journal_name(safety, &name) },
            Refusal::Hook { hook, how } => Refusal::Hook { hook: journal_name(safety, &hook), how },
            kind => kind,
        };
        let rewritten_by = self.rewritten_by.as_ref().map(|hook| journal_name(safety, hook));
        GateDecision::Refused { refusal: Some(kind), rewritten_by }
    }
}

/// A name for the journal. The name of a hook is the whole command.
pub(super) fn journal_name(safety: &Safety, name: &str) -> String {
    safety.redact_stored(name).chars().take(NAME_LENGTH).collect()
}

impl From<Denial> for CallRefusal {
    fn from(Denial { refusal, text }: Denial) -> Self {
        Self::new(refusal, text)
    }
}

fn fault_of(kind: &Refusal) -> Fault {
    match kind {
        Refusal::UnknownTool | Refusal::InvalidArguments => Fault::InvalidParameters,
        Refusal::RateLimited { wait_ms } => {
            let retry_after = Duration::from_millis(u64::try_from(*wait_ms).unwrap_or_default());
            Fault::RateLimited { retry_after }
        }
        Refusal::NoSandbox => Fault::Sandbox,
        _ => Fault::NotAuthorised,
    }
}
