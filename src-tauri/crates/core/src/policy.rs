//! May exactly this call run? The only place where an `ApprovedCall` comes from.

use serde_json::Value;

use crate::tool::{ApprovalRule, ToolSpec};

/// A call that may run. It has no public constructor: holding one proves that `judge` said yes.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    tool: String,
    arguments: Value,
}

impl ApprovedCall {
    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments, as they were judged.
    #[must_use]
    pub const fn arguments(&self) -> &Value {
        &self.arguments
    }
}

/// What a run is allowed to call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolPolicy {
    /// Only these tools; all when absent.
    pub allow: Option<Vec<String>>,
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may run.
    Allowed(ApprovedCall),
    /// It may not; the reason is for the model and the person.
    Denied(String),
}

impl ToolPolicy {
    /// Whether the tool is offered at all.
    #[must_use]
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        let listed = self.allow.as_ref().is_none_or(|names| names.contains(&tool.name));
        // `complete_run` is the run's own way out and cannot be listed away.
        (listed || tool.name == "complete_run") && tool.approval == ApprovalRule::Never
    }

    /// Judges one call of `tool` whose arguments already fit its schema.
    #[must_use]
    pub fn judge(&self, tool: &ToolSpec, arguments: Value) -> Verdict {
        if !self.offers(tool) {
            return Verdict::Denied(format!("The tool {} is not allowed in this run.", tool.name));
        }
        Verdict::Allowed(ApprovedCall { tool: tool.name.clone(), arguments })
    }
}
