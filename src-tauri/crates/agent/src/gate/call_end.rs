//! The end of a call: the status in the journal, and the result for the model.
//!
//! Pitfall: treating a stopped tool as failed; it may have finished its work. Only a repeatable call counts as failed then.
//! Any other call has an unknown outcome.

use rouse_core::run::Usage;
use rouse_core::tool::{Fault, ToolEffect, ToolOutput, ToolSpec};
use rouse_store::{StepEnd, StepStatus};

use crate::safety::result_size::for_journal;

/// How a call ended.
pub(super) enum CallEnd {
    Returned(ToolOutput),
    TimedOut,
    Panicked,
    Cancelled,
}

impl CallEnd {
    pub(super) fn outcome(self, spec: &ToolSpec, is_repeatable: bool) -> (StepStatus, ToolOutput) {
        let name = &spec.name;
        let (stopped, doubt) = if is_repeatable {
            (StepStatus::Failed, "")
        } else {
            (StepStatus::Unknown, " It may still have done its work.")
        };
        match self {
            Self::Returned(output) if output.is_error() => (StepStatus::Failed, output),
            Self::Returned(output)
                if matches!(output.effect, Some(ToolEffect::RequestInput(_))) =>
            {
                (StepStatus::InputRequired, output)
            }
            Self::Returned(output) => (StepStatus::Finished, output),
            Self::TimedOut => {
                let seconds = spec.call_for.as_secs();
                let text =
                    format!("{name} took longer than {seconds} seconds and was stopped.{doubt}");
                (stopped, ToolOutput::faulty(Fault::Timeout, text))
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

/// The end of a step for the journal.
pub(super) fn step_end(status: StepStatus, output: &ToolOutput, duration_ms: i64) -> StepEnd {
    StepEnd {
        status,
        output: Some(for_journal(&output.value)),
        is_error: output.is_error(),
        usage: Usage { cost_micro_usd: output.cost_micro_usd, ..Usage::default() },
        duration_ms: Some(duration_ms),
    }
}
