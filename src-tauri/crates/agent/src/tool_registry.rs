//! The registry of tools: names, compiled schemas, and the offer for a policy.
//!
//! Refuses a tool without a valid name, a duplicate name and an invalid schema at the start: a tool whose arguments
//! cannot be checked never runs. Patterns run on an engine without backtracking, so no schema can take unbounded time.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use rouse_core::policy::{SKILL_LOAD, SKILL_READ, ToolPolicy, WithheldGrant};
use rouse_core::text::escape_line;
use rouse_core::text::{MAX_DEPTH, is_within_depth};
use rouse_core::text::{nearest, suggest};
use rouse_core::tool::{ApprovalRule, SandboxMode, Tool, ToolSpec};
use rouse_core::turn::COMPLETE_RUN;
use serde_json::Value;

/// The most schema errors of a call.
const MAX_ERRORS: usize = 5;

/// The most characters of an error.
const MAX_ERROR_CHARACTERS: usize = 300;

/// The most characters of a name in both wire formats.
const MAX_NAME_CHARACTERS: usize = 64;

/// All tools, in the order of the catalogue.
pub struct ToolRegistry {
    entries: Vec<RegisteredTool>,
    by_name: HashMap<String, usize>,
}

/// A tool with the compiled schema.
pub(crate) struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    schema: Validator,
}

/// Why a set of tools cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// An invalid name.
    #[error("`{0}` is no name for a tool: use 1 to 64 letters, digits, _ and -")]
    Name(String),
    /// A duplicate name.
    #[error("there are two tools called {0}")]
    Taken(String),
    /// An invalid schema.
    #[error("the schema of {tool} is not valid: {reason}")]
    Schema {
        /// The tool.
        tool: String,
        /// The reason.
        reason: String,
    },
}

impl ToolRegistry {
    /// Registers the tools and compiles their schemas.
    ///
    /// # Errors
    /// When a name is invalid or a duplicate, or a schema is invalid.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, RegistryError> {
        let mut registry =
            Self { entries: Vec::with_capacity(tools.len()), by_name: HashMap::new() };
        for tool in tools {
            let name = tool.spec().name.clone();
            if !is_name(&name) {
                return Err(RegistryError::Name(name));
            }
            let schema = compile(tool.spec())?;
            if registry.by_name.insert(name.clone(), registry.entries.len()).is_some() {
                return Err(RegistryError::Taken(name));
            }
            registry.entries.push(RegisteredTool { tool, schema });
        }
        Ok(registry)
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

    /// The names of the tools with untrusted output.
    #[must_use]
    pub fn untrusted_tools(&self) -> Vec<&str> {
        let untrusted = self.specs().filter(|spec| spec.untrusted_output);
        untrusted.map(|spec| spec.name.as_str()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
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
/// `complete_run` and the skill tools need a run.
#[must_use]
pub fn is_callable_alone(spec: &ToolSpec) -> bool {
    !spec.attended_only && ![COMPLETE_RUN, SKILL_LOAD, SKILL_READ].contains(&spec.name.as_str())
}

/// Why a written call is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCallError {
    /// The tool is unknown, or cannot be called alone.
    Tool(String),
    /// The arguments do not match the schema.
    Arguments(String),
}

impl RegisteredTool {
    /// The schema errors of `arguments`, for the model; none for valid arguments. Quotes no value: values may be long
    /// or secret.
    pub(crate) fn schema_errors(&self, arguments: &Value) -> Option<String> {
        if let Value::String(text) = arguments {
            return Some(not_json(text));
        }
        if !is_within_depth(arguments, MAX_DEPTH) {
            return Some(too_deep());
        }
        let errors: Vec<String> = self
            .schema
            .iter_errors(arguments)
            .take(MAX_ERRORS)
            .map(|error| {
                let (path, words) = (error.instance_path(), self.in_words(&error));
                match path.as_str() {
                    "" => shortened(&words),
                    path => shortened(&format!("{path}: {words}")),
                }
            })
            .collect();
        (!errors.is_empty()).then(|| errors.join("\n"))
    }

    /// A schema error; for an unknown key, with the known keys.
    fn in_words(&self, error: &ValidationError<'_>) -> String {
        let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() else {
            return error.masked().to_string();
        };
        let place = error.schema_path().as_str();
        let around = place.strip_suffix("/additionalProperties").unwrap_or(place);
        let known = self.tool.spec().parameters.pointer(&format!("{around}/properties"));
        let known: Vec<&str> =
            known.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| &**key).collect();
        let errors = unexpected.iter().take(MAX_ERRORS).map(|key| unknown_key(key, &known));
        errors.collect::<Vec<_>>().join("\n")
    }
}

/// The error of an unknown key, with the nearest known key, or else all known keys.
fn unknown_key(key: &str, known: &[&str]) -> String {
    let key = escape_line(key);
    format!("there is no key `{key}`{}", suggest(&key, known))
}

/// Why a grant does not cover the tool outside the sandbox.
fn always_needs_approval(name: &str) -> String {
    format!(
        "Outside the sandbox each call of {name} needs an approval, even with a grant, and this job's approval policy is `deny`. Set the policy to `ask`, or the sandbox to `required`."
    )
}

fn shortened(error: &str) -> String {
    match error.char_indices().nth(MAX_ERROR_CHARACTERS) {
        Some((end, _)) => format!("{} …", &error[..end]),
        None => error.to_owned(),
    }
}

fn too_deep() -> String {
    format!("The arguments are nested more than {MAX_DEPTH} levels deep.")
}

fn not_json(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if !is_within_depth(&value, MAX_DEPTH) => too_deep(),
        Ok(_) => "The arguments are not a JSON object.".to_owned(),
        Err(error) => format!("The arguments are not valid JSON: {error}."),
    }
}

fn is_name(name: &str) -> bool {
    let spelled = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    spelled && !name.is_empty() && name.len() <= MAX_NAME_CHARACTERS
}

fn compile(spec: &ToolSpec) -> Result<Validator, RegistryError> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(&spec.parameters)
        .map_err(|error| RegistryError::Schema {
            tool: spec.name.clone(),
            reason: error.to_string(),
        })
}
