//! Granted tools that are hidden from a run because every call would be refused.

use super::ToolPolicy;
use crate::job::Approvals;
use crate::tool::{ApprovalRule, ToolSpec};

/// A granted tool that is hidden from the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldGrant {
    /// The tool.
    pub tool: String,
    /// The reason and the remedy, as a sentence.
    pub reason: String,
}

impl ToolPolicy {
    /// Whether the tool is offered only because of a grant: the approval policy is `skip`.
    #[must_use]
    pub fn offers_by_grant(&self, tool: &ToolSpec) -> bool {
        let needs_approval = tool.approval != ApprovalRule::Never && !self.has_written_call();
        self.approvals == Approvals::Skip && needs_approval && self.offers(tool)
    }

    /// Whether the job has a grant for the tool.
    #[must_use]
    pub fn is_granted(&self, tool: &str) -> bool {
        self.granted.iter().any(|granted| granted == tool)
    }

    /// Returns the policy with these granted tools withheld.
    #[must_use]
    pub fn without(self, withheld: Vec<WithheldGrant>) -> Self {
        Self { withheld, ..self }
    }

    /// The granted tools that are hidden from the run.
    #[must_use]
    pub fn withheld(&self) -> &[WithheldGrant] {
        &self.withheld
    }

    pub(super) fn withholds(&self, tool: &ToolSpec) -> bool {
        self.withheld.iter().any(|withheld| withheld.tool == tool.name)
    }
}
