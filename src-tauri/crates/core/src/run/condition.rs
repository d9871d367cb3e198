//! Conditions on the result of a tool call.
//!
//! Owns the outcome type. `agent` evaluates a condition, a CEL expression over `result`, `previous` and `state`.

/// The maximum bytes of a condition; deeper nesting than fits is unsafe to evaluate.
pub const MAX_CONDITION_BYTES: usize = 1_024;

/// The outcome of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionVerdict {
    /// True: notify.
    Met,
    /// False: stay silent.
    NotMet,
    /// Evaluation failed, with the message.
    Broken(String),
}
