//! How a call ended, in words and in the journal.
//!
//! Owns what is said of a call that did not come to its own end. One could get it wrong by calling a tool failed that was
//! stopped on its way: it may have done its work.

use rouse_core::run::Usage;
use rouse_core::tool::{Fault, ToolOutput, ToolSpec};
use rouse_store::{StepEnd, StepStatus};

use super::fence;

/// How a call ended.
pub(super) enum Ending {
    Answered(ToolOutput),
    TimedOut,
    Panicked,
    Cancelled,
}

impl Ending {
    /// How it stands in the journal, and what is told of it.
    pub(super) fn outcome(self, spec: &ToolSpec, is_repeatable: bool) -> (StepStatus, ToolOutput) {
        // A tool that was stopped on its way may have done its work; only for a repeatable one that does not matter.
        let stopped = if is_repeatable { StepStatus::Failed } else { StepStatus::Unknown };
        let doubt = if is_repeatable { "" } else { " It may have done its work all the same." };
        let name = &spec.name;
        match self {
            Self::Answered(output) if output.is_error() => (StepStatus::Failed, output),
            Self::Answered(output) => (StepStatus::Finished, output),
            Self::TimedOut => {
                let seconds = spec.call_for.as_secs();
                let words =
                    format!("{name} took longer than {seconds} seconds and was stopped.{doubt}");
                (stopped, ToolOutput::faulty(Fault::Timeout, words))
            }
            Self::Panicked => {
                tracing::error!(tool = %name, "a tool panicked");
                (stopped, ToolOutput::error(format!("{name} failed inside Rouse.{doubt}")))
            }
            Self::Cancelled => {
                (stopped, ToolOutput::error(format!("{name} was stopped with its run.{doubt}")))
            }
        }
    }
}

/// How a step ended, for the journal.
pub(super) fn end_of(status: StepStatus, output: &ToolOutput, took_ms: i64) -> StepEnd {
    StepEnd {
        status,
        output: Some(fence::journalled(&output.value)),
        is_error: output.is_error(),
        usage: Usage { cost_micro_usd: output.cost_micro_usd, ..Usage::default() },
        duration_ms: Some(took_ms),
    }
}
