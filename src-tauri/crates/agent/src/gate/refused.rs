//! A call that is not made: of which kind the refusal is, and what is told of it.
//!
//! Owns which fault a refusal is: it follows from the kind. One could get it wrong by reading the kind out of the fault,
//! or out of the words: a tool may answer the same of a call that it was let make.

use std::time::Duration;

use rouse_core::approval::{GateDecision, Refusal};
use rouse_core::policy::Denial;
use rouse_core::tool::{Fault, ToolOutput};

use crate::safety::Safety;

/// A call that is not made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refused {
    /// Of which kind the refusal is.
    pub(super) why: Refusal,
    /// What is told of it.
    pub(super) output: ToolOutput,
    /// The hook that has made the call of another one.
    pub(super) rewritten_by: Option<String>,
}

impl Refused {
    /// One of this kind.
    pub(crate) fn new(why: Refusal, words: impl Into<String>) -> Self {
        let output = ToolOutput::faulty(fault_of(&why), words);
        Self { why, output, rewritten_by: None }
    }

    /// One of a call of which its tool says why it could not be carried out.
    pub(super) fn by_tool(output: ToolOutput) -> Self {
        let why = match output.fault {
            Some(Fault::Sandbox) => Refusal::NoSandbox,
            _ => Refusal::Impossible,
        };
        Self { why, output, rewritten_by: None }
    }

    /// One of a call of the tool `name` that may be made again after `wait`.
    pub(super) fn too_often(name: &str, wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000);
        let told = format!(
            "{name} was called too often. It may be called again in {seconds} seconds; until then do without it."
        );
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self::new(Refusal::RateLimited { wait_ms }, told)
    }

    /// How long until the rate limit lets the call through; none for any other refusal.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self.why {
            Refusal::RateLimited { wait_ms } => {
                u64::try_from(wait_ms).ok().map(Duration::from_millis)
            }
            _ => None,
        }
    }

    /// The decision as it is written down: what a person or a model has said in it may hold a secret.
    pub(super) fn decision(&self, safety: &Safety) -> GateDecision {
        let why = match self.why.clone() {
            Refusal::Denied { reason } => {
                Refusal::Denied { reason: reason.map(|reason| safety.words(&reason)) }
            }
            Refusal::Secret { name } => Refusal::Secret { name: kept_name(safety, &name) },
            Refusal::Hook { hook, how } => Refusal::Hook { hook: kept_name(safety, &hook), how },
            why => why,
        };
        let rewritten_by = self.rewritten_by.as_ref().map(|hook| kept_name(safety, hook));
        GateDecision::Refused { why: Some(why), rewritten_by }
    }
}

/// A name as it is written down. That of a hook is its whole command.
pub(super) fn kept_name(safety: &Safety, name: &str) -> String {
    safety.words(name).chars().take(200).collect()
}

impl From<Denial> for Refused {
    fn from(Denial { why, words }: Denial) -> Self {
        Self::new(why, words)
    }
}

fn fault_of(why: &Refusal) -> Fault {
    match why {
        Refusal::UnknownTool | Refusal::Misfit => Fault::InvalidParameters,
        Refusal::RateLimited { wait_ms } => {
            let retry_after = Duration::from_millis(u64::try_from(*wait_ms).unwrap_or_default());
            Fault::RateLimited { retry_after }
        }
        Refusal::NoSandbox => Fault::Sandbox,
        Refusal::NotListed
        | Refusal::Ceiling { .. }
        | Refusal::Unattended
        | Refusal::Unasked { .. }
        | Refusal::Hook { .. }
        | Refusal::Denied { .. }
        | Refusal::Expired
        | Refusal::JobGone
        | Refusal::EarlierAsks
        | Refusal::Leak { .. }
        | Refusal::Secret { .. }
        | Refusal::Unkept
        | Refusal::Budget
        | Refusal::Impossible => Fault::NotAuthorised,
    }
}
