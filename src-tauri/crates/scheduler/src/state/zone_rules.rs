//! The zone rules that the next slots were planned with, and pending clock changes.

use std::collections::BTreeSet;

use rouse_core::schedule::Zones;

/// The zone rules in use.
#[derive(Debug)]
pub(crate) struct ZoneRules {
    pub(crate) zones: Zones,
    /// The zones with stored rules.
    pub(crate) stored: BTreeSet<String>,
    /// Whether the wall clock was set and the next slots must be checked.
    pub(crate) clock_was_set: bool,
    /// Whether the rules of the plans of an earlier process are unknown.
    pub(crate) are_unknown: bool,
}

impl ZoneRules {
    pub(crate) const fn new(zones: Zones) -> Self {
        Self { zones, stored: BTreeSet::new(), clock_was_set: false, are_unknown: false }
    }
}
