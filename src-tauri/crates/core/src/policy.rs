//! May exactly this call run? The only place where an `ApprovedCall` comes from.

use serde_json::Value;

use crate::tool::{ApprovalRule, ToolSpec};

/// A call that may run. It has no public constructor: holding one proves that `judge` said yes.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    arguments: Value,
}

impl ApprovedCall {
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
    allow: Option<Vec<String>>,
    /// The one call that the person has written down word for word, which is as good as a yes to it.
    written: Option<WrittenCall>,
}

/// A call as it stands in a job.
#[derive(Debug, Clone, PartialEq)]
struct WrittenCall {
    tool: String,
    arguments: Value,
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
    /// Only these tools; all when none.
    #[must_use]
    pub const fn of_tools(allow: Option<Vec<String>>) -> Self {
        Self { allow, written: None }
    }

    /// Exactly the call of a `toolCall` job, which the person has written.
    #[must_use]
    pub fn of_a_persons_call(tool: &str, arguments: &Value) -> Self {
        let written = WrittenCall { tool: tool.to_owned(), arguments: arguments.clone() };
        Self { allow: Some(vec![tool.to_owned()]), written: Some(written) }
    }

    /// Whether a person has written down the one call that there is.
    #[must_use]
    pub const fn is_a_persons_call(&self) -> bool {
        self.written.is_some()
    }

    /// Whether the tool is offered at all.
    #[must_use]
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        // `complete_run` is the run's own way out and cannot be listed away.
        let listed = self.lists(tool) || tool.name == "complete_run";
        listed && tool.approval == ApprovalRule::Never
    }

    fn lists(&self, tool: &ToolSpec) -> bool {
        self.allow.as_ref().is_none_or(|names| names.contains(&tool.name))
    }

    /// Whether the person has written down this very call.
    fn is_written(&self, tool: &ToolSpec, arguments: &Value) -> bool {
        let same =
            |written: &WrittenCall| written.tool == tool.name && written.arguments == *arguments;
        tool.approval == ApprovalRule::UnlessGranted && self.written.as_ref().is_some_and(same)
    }

    /// Judges one call of `tool` whose arguments already fit its schema.
    #[must_use]
    pub fn judge(&self, tool: &ToolSpec, arguments: Value) -> Verdict {
        if !self.offers(tool) && !self.is_written(tool, &arguments) {
            return Verdict::Denied(format!("The tool {} is not allowed in this run.", tool.name));
        }
        Verdict::Allowed(ApprovedCall { arguments })
    }
}
