//! The finding of both detectors.

use std::ops::Range;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeakFinding {
    /// `secret:NAME` for a stored secret, else the name of the rule.
    pub what: String,
    /// Whether the finding is a stored value or key-shaped. False for a guess from a name beside the value.
    pub certain: bool,
    /// The bytes in the text.
    pub at: Range<usize>,
}
