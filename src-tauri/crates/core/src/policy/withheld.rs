//! Tools that a run is not offered although its job was granted calls of them, because each call would be refused.

use super::ToolPolicy;
use crate::job::Approvals;
use crate::tool::{ApprovalRule, ToolSpec};

/// Such a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its name.
    pub tool: String,
    /// Why, and what a person can do.
    pub why: String,
}

impl ToolPolicy {
    /// Whether it offers the tool on no other ground than a grant of its job, because it asks nobody.
    #[must_use]
    pub fn offers_as_granted(&self, tool: &ToolSpec) -> bool {
        let is_asked = tool.approval != ApprovalRule::Never && !self.is_a_persons_call();
        self.asks == Approvals::Skip && is_asked && self.offers(tool)
    }

    /// Whether a grant of its job covers a call of the tool.
    #[must_use]
    pub fn is_granted(&self, tool: &str) -> bool {
        self.granted.iter().any(|granted| granted == tool)
    }

    /// The same, which does not offer these.
    #[must_use]
    pub fn without(self, withheld: Vec<Withheld>) -> Self {
        Self { withheld, ..self }
    }

    /// What it would offer as granted, and does not.
    #[must_use]
    pub fn withheld(&self) -> &[Withheld] {
        &self.withheld
    }

    pub(super) fn withholds(&self, tool: &ToolSpec) -> bool {
        self.withheld.iter().any(|withheld| withheld.tool == tool.name)
    }
}
