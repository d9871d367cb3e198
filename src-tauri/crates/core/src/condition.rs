//! Conditions on the result of a tool call: what they may be, and what they answered.
//!
//! A condition is one expression of CEL, the Common Expression Language, over `result`, `previous` and `state`. It is
//! worked out in the agent room, on a thread of its own; here are only the words that cross rooms.

/// The longest condition, in bytes: deeper nesting than fits into it is not safe to work out.
pub const LONGEST: usize = 1_024;

/// What a condition answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds: tell.
    Met,
    /// It does not: be quiet.
    NotMet,
    /// It could not be worked out; why, in words.
    Broken(String),
}
