//! A tool in a set, with its schema, which is compiled at the first call.
//!
//! Owns the admission of one tool: its name and its schema. A compiled schema takes several kilobytes, and most of
//! hundreds of tools are never called. Patterns run on an engine without backtracking, so no schema
//! can take unbounded time. Pitfall: quoting a value in a schema error; values may be long or secret.

use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use rouse_core::text::escape_line;
use rouse_core::text::suggest;
use rouse_core::text::{MAX_DEPTH, is_within_depth};
use rouse_core::tool::{Tool, ToolSpec};
use serde_json::Value;

/// The most schema errors of a call.
const MAX_ERRORS: usize = 5;

/// The most characters of an error.
const MAX_ERROR_CHARACTERS: usize = 300;

/// The most characters of a name in both wire formats.
const MAX_NAME_CHARACTERS: usize = 64;

/// A tool with its schema.
#[derive(Clone)]
pub(crate) struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    compiled: Arc<OnceLock<Validator>>,
}

/// Why a tool is not admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// An invalid name.
    #[error("`{0}` is not a valid tool name: use 1 to 64 letters, digits, `_` and `-`")]
    Name(String),
    /// Another tool has the same name.
    #[error("there is another tool called {0}")]
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

impl RegisteredTool {
    /// Checks the name and the schema.
    ///
    /// # Errors
    /// The name or the schema is invalid.
    pub(super) fn admit(tool: Arc<dyn Tool>) -> Result<Self, AdmissionError> {
        let spec = tool.spec();
        if !is_name(&spec.name) {
            return Err(AdmissionError::Name(spec.name.clone()));
        }
        compile(spec)?;
        Ok(Self { tool, compiled: Arc::default() })
    }

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
            .schema()
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

    fn schema(&self) -> &Validator {
        let compile = || compile(self.tool.spec()).expect("BUG: an admitted schema is valid");
        self.compiled.get_or_init(compile)
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

fn compile(spec: &ToolSpec) -> Result<Validator, AdmissionError> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(&spec.parameters)
        .map_err(|error| AdmissionError::Schema {
            tool: spec.name.clone(),
            reason: error.to_string(),
        })
}
