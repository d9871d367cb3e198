//! An immutable set of tools: names, offers, and the check of written calls.
//!
//! A run keeps the set that it began with, so policy, offer, hooks and journal speak of one list. A tool that is not
//! admitted is listed with its reason and affects no other tool.

use std::collections::HashMap;
use std::sync::Arc;

use rouse_core::policy::{SKILL_LOAD, SKILL_READ, ToolPolicy, WithheldGrant};
use rouse_core::text::nearest;
use rouse_core::tool::{ApprovalRule, SandboxMode, Tool, ToolSpec};
use rouse_core::tool_search::TOOL_SEARCH;
use rouse_core::turn::COMPLETE_RUN;
use serde_json::Value;

use super::registered_tool::{AdmissionError, RegisteredTool};

/// Tools in the order of the catalogue.
#[derive(Clone, Default)]
pub struct ToolSet {
    entries: Vec<RegisteredTool>,
    by_name: HashMap<String, usize>,
    refused: Vec<RefusedTool>,
}

/// A tool that was not admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTool {
    /// The name.
    pub name: String,
    /// The reason.
    pub error: AdmissionError,
}

impl ToolSet {
    /// Adds a tool.
    ///
    /// # Errors
    /// The name is invalid or taken, or the schema is invalid.
    pub fn admit(&mut self, tool: Arc<dyn Tool>) -> Result<(), AdmissionError> {
        let name = tool.spec().name.clone();
        if self.by_name.contains_key(&name) {
            return Err(AdmissionError::Taken(name));
        }
        let entry = RegisteredTool::admit(tool)?;
        self.by_name.insert(name, self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    /// The set with these tools added. A tool that is not admitted is among the refused tools.
    #[must_use]
    pub fn with_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Self {
        let mut set = self.clone();
        for tool in tools {
            let name = tool.spec().name.clone();
            if let Err(error) = set.admit(tool) {
                set.refused.push(RefusedTool { name, error });
            }
        }
        set
    }

    /// All specs, for the catalogue.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec())
    }

    /// The specs of the tools that `policy` offers.
    #[must_use]
    pub fn offered(&self, policy: &ToolPolicy) -> Vec<ToolSpec> {
        let tools = self.entries.iter().map(|entry| &entry.tool).filter(|tool| tool.is_set_up());
        tools.map(|tool| tool.spec()).filter(|spec| policy.offers(spec)).cloned().collect()
    }

    /// `policy` without granted tools that `sandbox` refuses in every call.
    #[must_use]
    pub async fn without_unusable_grants(
        &self,
        policy: ToolPolicy,
        sandbox: &SandboxMode,
    ) -> ToolPolicy {
        let mut withheld = Vec::new();
        let tools = self.entries.iter().map(|entry| &entry.tool);
        for tool in tools.filter(|tool| policy.offers_by_grant(tool.spec())) {
            let name = &tool.spec().name;
            let reason = match tool.default_approval(sandbox) {
                ApprovalRule::Always => Some(always_needs_approval(name)),
                ApprovalRule::Never | ApprovalRule::UnlessGranted => {
                    tool.unavailable_reason(sandbox).await
                }
            };
            withheld.extend(reason.map(|reason| WithheldGrant { tool: name.clone(), reason }));
        }
        policy.without(withheld)
    }

    /// The names of the tools with trusted output. The output of any other tool is untrusted, also of a tool that is no
    /// longer there.
    #[must_use]
    pub fn trusted_tools(&self) -> Vec<&str> {
        let trusted = self.specs().filter(|spec| !spec.untrusted_output);
        trusted.map(|spec| spec.name.as_str()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.entry(name).map(|entry| Arc::clone(&entry.tool))
    }

    /// The tools that were not admitted.
    #[must_use]
    pub fn refused(&self) -> &[RefusedTool] {
        &self.refused
    }

    /// The error of a call that is written down for later; none for a valid call.
    #[must_use]
    pub fn call_error(&self, name: &str, arguments: &Value) -> Option<ToolCallError> {
        match self.entry(name) {
            Some(entry) if !is_callable_alone(entry.tool.spec()) => Some(ToolCallError::Tool(
                "must be a tool that works without a model; this tool belongs to a turn of a model"
                    .to_owned(),
            )),
            Some(entry) => {
                let schema_error = entry.schema_errors(arguments);
                let error = schema_error.or_else(|| entry.tool.argument_error(arguments));
                error.map(ToolCallError::Arguments)
            }
            None => {
                let callable = self.specs().filter(|spec| is_callable_alone(spec));
                let names: Vec<&str> = callable.map(|spec| spec.name.as_str()).collect();
                Some(ToolCallError::Tool(format!(
                    "expected one of {}, found `{name}`{}",
                    names.join(", "),
                    nearest(name, names.iter().copied())
                        .map(|near| format!("; did you mean {near}?"))
                        .unwrap_or_default()
                )))
            }
        }
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&RegisteredTool> {
        self.by_name.get(name).map(|&index| &self.entries[index])
    }
}

/// Whether a person can call the tool outside a conversation. Tools about jobs have pages and commands instead;
/// `complete_run`, the tool search and the skill tools need a run.
#[must_use]
pub fn is_callable_alone(spec: &ToolSpec) -> bool {
    let of_runs = [COMPLETE_RUN, TOOL_SEARCH, SKILL_LOAD, SKILL_READ];
    !spec.attended_only && !of_runs.contains(&spec.name.as_str())
}

/// Why a written call is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCallError {
    /// The tool is unknown, or cannot be called alone.
    Tool(String),
    /// The arguments do not match the schema.
    Arguments(String),
}

/// Why a grant does not cover the tool outside the sandbox.
fn always_needs_approval(name: &str) -> String {
    format!(
        "Outside the sandbox each call of {name} needs an approval, even with a grant, and this job's approval policy is `deny`. Set the policy to `ask`, or the sandbox to `required`."
    )
}
