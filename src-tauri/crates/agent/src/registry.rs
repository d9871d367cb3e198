//! The tools there are.
//!
//! Owns the names and the compiled schemas. It refuses a tool without a usable name, two tools of one name and a
//! schema that does not compile, at the start and by name: a tool whose arguments cannot be checked never runs.
//! Patterns run on an engine without backtracking, so no schema can be made to think for ever.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use rouse_core::depth::{LEVELS, fits};
use rouse_core::near::{instead, nearest};
use rouse_core::policy::{SKILL_LOAD, SKILL_READ, ToolPolicy, Withheld};
use rouse_core::tool::{ApprovalRule, SandboxMode, Tool, ToolSpec};
use rouse_core::turn::COMPLETE_RUN;
use rouse_core::visible::visible_line;
use serde_json::Value;

/// The most complaints about one call that a model is told.
const MOST_COMPLAINTS: usize = 5;

/// The most characters of one of them.
const LONGEST_COMPLAINT: usize = 300;

/// The longest name that both wire formats accept.
const LONGEST_NAME: usize = 64;

/// The tools there are, in the order of the catalogue.
pub struct ToolRegistry {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    schema: Validator,
}

/// Why a set of tools is no registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A name that models cannot spell.
    #[error("`{0}` is no name for a tool: use 1 to 64 letters, digits, _ and -")]
    Name(String),
    /// Two tools of one name.
    #[error("there are two tools called {0}")]
    Taken(String),
    /// A schema that does not compile.
    #[error("the schema of {tool} is not valid: {reason}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        reason: String,
    },
}

impl ToolRegistry {
    /// Takes the tools in and compiles their schemas.
    ///
    /// # Errors
    /// When a name is unusable or taken, or a schema does not compile.
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
            registry.entries.push(Entry { tool, schema });
        }
        Ok(registry)
    }

    /// All specs, for the catalogue.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec())
    }

    /// The specs of what `policy` lets a run call.
    #[must_use]
    pub fn offered(&self, policy: &ToolPolicy) -> Vec<ToolSpec> {
        let tools = self.entries.iter().map(|entry| &entry.tool).filter(|tool| tool.is_set_up());
        tools.map(|tool| tool.spec()).filter(|spec| policy.offers(spec)).cloned().collect()
    }

    /// `policy`, which offers nothing on the ground of a grant where no call of it can be made in a run that is confined
    /// like this.
    #[must_use]
    pub async fn withholding(&self, policy: ToolPolicy, sandbox: &SandboxMode) -> ToolPolicy {
        let mut withheld = Vec::new();
        let tools = self.entries.iter().map(|entry| &entry.tool);
        for tool in tools.filter(|tool| policy.offers_as_granted(tool.spec())) {
            let name = &tool.spec().name;
            let why = match tool.usual_approval(sandbox) {
                ApprovalRule::Always => Some(asked_each_time(name)),
                ApprovalRule::Never | ApprovalRule::UnlessGranted => {
                    tool.why_not_here(sandbox).await
                }
            };
            withheld.extend(why.map(|why| Withheld { tool: name.clone(), why }));
        }
        policy.without(withheld)
    }

    /// The names of the tools whose output somebody else may have written.
    #[must_use]
    pub fn outside(&self) -> Vec<&str> {
        let outside = self.specs().filter(|spec| spec.untrusted_output);
        outside.map(|spec| spec.name.as_str()).collect()
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// What is wrong with a call that somebody writes down for later; nothing when it could be made.
    #[must_use]
    pub fn complaint(&self, name: &str, arguments: &Value) -> Option<Complaint> {
        match self.entry(name) {
            Some(entry) if !is_by_itself(entry.tool.spec()) => Some(Complaint::Tool(
                "must be a tool that does something by itself; this one belongs to a turn of a model"
                    .to_owned(),
            )),
            Some(entry) => {
                let misfit = entry.complaints(arguments);
                let error = misfit.or_else(|| entry.tool.argument_error(arguments));
                error.map(Complaint::Arguments)
            }
            None => {
                let by_themselves = self.specs().filter(|spec| is_by_itself(spec));
                let names: Vec<&str> = by_themselves.map(|spec| spec.name.as_str()).collect();
                Some(Complaint::Tool(format!(
                    "expected one of {}, found `{name}`{}",
                    names.join(", "),
                    nearest(name, names.iter().copied())
                        .map(|near| format!("; did you mean {near}?"))
                        .unwrap_or_default()
                )))
            }
        }
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|&index| &self.entries[index])
    }
}

/// Whether a person may have it called. The tools of a conversation speak of jobs, for which a person has pages and commands;
/// the end of a run needs a run, and the files of skills one that was told of some.
#[must_use]
pub fn is_by_itself(spec: &ToolSpec) -> bool {
    !spec.attended_only && ![COMPLETE_RUN, SKILL_LOAD, SKILL_READ].contains(&spec.name.as_str())
}

/// What is wrong with a call that somebody writes down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// There is no such tool, or none that can be called so.
    Tool(String),
    /// The arguments do not fit its schema.
    Arguments(String),
}

impl Entry {
    /// What is wrong with `arguments`, for the model; nothing when they fit. It says where and what is wanted, and repeats
    /// no value: those may be long, and secrets that nobody has stored.
    pub(crate) fn complaints(&self, arguments: &Value) -> Option<String> {
        if let Value::String(text) = arguments {
            return Some(not_json(text));
        }
        if !fits(arguments, LEVELS) {
            return Some(too_deep());
        }
        let complaints: Vec<String> = self
            .schema
            .iter_errors(arguments)
            .take(MOST_COMPLAINTS)
            .map(|error| {
                let (path, words) = (error.instance_path(), self.in_words(&error));
                match path.as_str() {
                    "" => shortened(&words),
                    path => shortened(&format!("{path}: {words}")),
                }
            })
            .collect();
        (!complaints.is_empty()).then(|| complaints.join("\n"))
    }

    /// The complaint; of a key that there is not, with those that there are.
    fn in_words(&self, error: &ValidationError<'_>) -> String {
        let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() else {
            return error.masked().to_string();
        };
        let place = error.schema_path().as_str();
        let around = place.strip_suffix("/additionalProperties").unwrap_or(place);
        let known = self.tool.spec().parameters.pointer(&format!("{around}/properties"));
        let known: Vec<&str> =
            known.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| &**key).collect();
        let complaints = unexpected.iter().take(MOST_COMPLAINTS).map(|key| unknown(key, &known));
        complaints.collect::<Vec<_>>().join("\n")
    }
}

/// That there is no `key`, with the one that was probably meant, or else all of them.
fn unknown(key: &str, known: &[&str]) -> String {
    let key = visible_line(key);
    format!("there is no `{key}` in it{}", instead(&key, known))
}

/// Why a grant lets no call of the tool through where it leaves the sandbox.
fn asked_each_time(name: &str) -> String {
    format!(
        "Outside the sandbox each call of {name} is asked for, whatever was granted, and this job asks nobody. Set its approvals to ask, or its sandbox to required."
    )
}

fn shortened(complaint: &str) -> String {
    match complaint.char_indices().nth(LONGEST_COMPLAINT) {
        Some((end, _)) => format!("{} …", &complaint[..end]),
        None => complaint.to_owned(),
    }
}

fn too_deep() -> String {
    format!("They are nested more than {LEVELS} levels deep.")
}

fn not_json(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if !fits(&value, LEVELS) => too_deep(),
        Ok(_) => "They are not a JSON object.".to_owned(),
        Err(error) => format!("They are not valid JSON: {error}."),
    }
}

fn is_name(name: &str) -> bool {
    let spelled = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    spelled && !name.is_empty() && name.len() <= LONGEST_NAME
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
