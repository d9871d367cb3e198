//! Documents that are read as a whole, by the JSON schema of their type.
//!
//! Owns the schema, which derives from the type, the wording of violations, and the normalisation of input: `null` counts
//! as absent, `60000.0` as 60000. Knows no zones and no rules across fields.
//! Pitfall: reporting every branch of a union. The branch is chosen by `kind` (or by the JSON type) first, so a person
//! reads only about the kind that was meant.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, PatternOptions, ValidationError, Validator};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{FieldError, kind_of};
use crate::text::{group_thousands, nearest};

/// The maximum characters of a text of the wrong type in an error.
const MAX_QUOTED: usize = 16;

/// The schema of a document type with the validator.
pub(crate) struct DocumentSchema {
    pub(crate) schema: Value,
    validator: Validator,
    format_violation: FormatCheck,
}

/// The simplified JSON schema of `T`, without references.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

/// A text in one of the formats of the document.
pub(crate) fn text_of(format: &str) -> Value {
    json!({ "type": "string", "format": format })
}

/// A text with at least one visible character.
pub(crate) fn non_blank(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"\S" })
}

/// Why a text (second) is not in a format (first).
pub(crate) type FormatCheck = fn(&str, &str) -> Option<String>;

impl DocumentSchema {
    /// The schema of `T`, with the `formats` of texts.
    pub(crate) fn of<T: JsonSchema>(
        formats: &[&'static str],
        format_violation: FormatCheck,
    ) -> Self {
        let schema = schema_of::<T>();
        let mut options = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true);
        for &format in formats {
            let is_valid = move |text: &str| format_violation(format, text).is_none();
            options = options.with_format(format, is_valid);
        }
        let validator = options.build(&schema).expect("BUG: the schema of a document is invalid");
        Self { schema, validator, format_violation }
    }

    /// Prepares the input for validation: removes known keys with `null`, turns whole floats into integers.
    pub(crate) fn normalise(&self, document: &mut Value) {
        normalise_by(&self.schema, document);
    }

    /// The violations of the schema, then the violations `across_fields`: a single violation for each field, in the
    /// order of the keys.
    pub(crate) fn violations(
        &self,
        document: &Value,
        across_fields: Vec<FieldError>,
    ) -> Vec<FieldError> {
        let mut all = Vec::new();
        for error in self.validator.iter_errors(document) {
            self.report(&error, &mut all);
        }
        all.extend(across_fields);
        let mut found: Vec<FieldError> = Vec::new();
        for error in all {
            if !found.iter().any(|known| known.path == error.path) {
                found.push(error);
            }
        }
        let keys = self.schema["properties"].as_object();
        let position = |path: &str| {
            let first = path.split(['.', '[']).next();
            keys.and_then(|keys| keys.keys().position(|key| first == Some(key)))
        };
        found.sort_by_key(|error| position(&error.path));
        found
    }

    fn report(&self, error: &ValidationError<'_>, found: &mut Vec<FieldError>) {
        let path = path_of(error);
        let mut add = |path, message| found.push(FieldError { path, message });
        let rule = rule_of(error, &self.schema);
        match error.kind() {
            ValidationErrorKind::OneOfNotValid { context }
            | ValidationErrorKind::AnyOf { context } => {
                self.report_union(error, context, found);
            }
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let expected = expected(&rule["properties"][key]);
                add(join(&path, key), format!("is required: expected {expected}"));
            }
            ValidationErrorKind::Type { kind } => {
                add(whole(path), type_violation(kind, rule, error.instance()));
            }
            ValidationErrorKind::Enum { options } => {
                let names: Vec<&str> =
                    options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                add(path, unknown_name(error.instance(), &names));
            }
            ValidationErrorKind::Minimum { .. } | ValidationErrorKind::Maximum { .. } => {
                let unit = rule["unit"].as_str().map(|unit| format!(" {unit}")).unwrap_or_default();
                let (low, high) = (number_text(&rule["minimum"]), number_text(&rule["maximum"]));
                add(
                    path,
                    format!("must be between {low} and {high}{unit}, found {}", error.instance()),
                );
            }
            ValidationErrorKind::MinLength { .. } | ValidationErrorKind::Pattern { .. } => {
                add(path, "must not be empty".to_owned());
            }
            ValidationErrorKind::MaxLength { limit } => {
                let length = error.instance().as_str().unwrap_or_default().chars().count();
                add(path, format!("must be at most {limit} characters, found {length}"));
            }
            ValidationErrorKind::MaxProperties { limit } => {
                add(path, format!("must be at most {limit} fields"));
            }
            ValidationErrorKind::MaxItems { limit } => {
                let count = error.instance().as_array().map_or(0, Vec::len);
                add(path, format!("must be at most {limit}, found {count}"));
            }
            ValidationErrorKind::Format { format } => {
                let text = error.instance().as_str().unwrap_or_default();
                add(path, (self.format_violation)(format, text).unwrap_or_default());
            }
            _ => add(whole(path), error.to_string()),
        }
    }

    /// Reports the intended branch: the first with the same `kind` and type. Without such a branch, the violation is
    /// the `kind`, or the word of a union of words and objects.
    fn report_union(
        &self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
        found: &mut Vec<FieldError>,
    ) {
        let (path, instance) = (path_of(error), error.instance());
        let rules = union_of(rule_of(error, &self.schema)).expect("BUG: a union without branches");
        let kinds: Vec<&str> =
            rules.iter().filter_map(|rule| rule["properties"]["kind"]["const"].as_str()).collect();
        if kinds.is_empty() {
            let is_meant = |rule: &Value| (rule["type"] == "object") == instance.is_object();
            let meant = rules.iter().position(is_meant).unwrap_or(0);
            branches[meant].iter().for_each(|error| self.report(error, found));
            return;
        }
        // A value that is no object has another violation, of the type.
        let Some(fields) = instance.as_object() else {
            return found.push(FieldError {
                path,
                message: format!("expected an object, found {}", kind_of(instance)),
            });
        };
        let kind = fields.get("kind").unwrap_or(&Value::Null);
        match rules.iter().position(|rule| is_of_kind(rule, kind)) {
            Some(meant) => branches[meant].iter().for_each(|error| self.report(error, found)),
            None => {
                let message = match kind {
                    Value::Null => format!("is required: expected one of {}", kinds.join(", ")),
                    kind => unknown_name(kind, &kinds),
                };
                found.push(FieldError { path: join(&path, "kind"), message });
            }
        }
    }
}

fn normalise_by(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let kind = fields.get("kind").cloned().unwrap_or_default();
            let branches = union_of(schema).into_iter().flatten();
            let branch = branches.filter(|branch| {
                branch["properties"]["kind"].is_null() || is_of_kind(branch, &kind)
            });
            for schema in std::iter::once(schema).chain(branch) {
                for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
                    if fields.get(key).is_some_and(Value::is_null) {
                        fields.shift_remove(key);
                    } else if let Some(value) = fields.get_mut(key) {
                        normalise_by(schema, value);
                    }
                }
            }
            if schema["additionalProperties"].is_object() {
                let named = &schema["additionalProperties"];
                fields.values_mut().for_each(|value| normalise_by(named, value));
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| normalise_by(&schema["items"], item));
        }
        Value::Number(number) if schema["type"] == "integer" => {
            if let Some(whole) = number.as_f64().and_then(whole_number) {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

/// Whole floats within the exact range of a float, as JavaScript writes integers.
#[expect(clippy::cast_possible_truncation, reason = "whole and in the exact range")]
fn whole_number(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i64)
}

pub(crate) fn union_of(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

pub(crate) fn is_of_kind(branch: &Value, kind: &Value) -> bool {
    branch["properties"]["kind"]["const"] == *kind
}

/// The known keys of an object, in the branch of `kind` where the object is a union.
pub(crate) fn keys_of_kind(schema: &'static Value, kind: &Value) -> Vec<&'static str> {
    let branch =
        union_of(schema).and_then(|branches| branches.iter().find(|b| is_of_kind(b, kind)));
    let keys_of = |schema: &'static Value| {
        schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|keys| keys.keys().map(String::as_str))
    };
    keys_of(schema).chain(branch.into_iter().flat_map(keys_of)).collect()
}

/// Removes redundant rules: `null` of optional fields (removed from the input) and unions of constants (an `enum` has a
/// single error instead of an error for each constant).
fn simplify(schema: &mut Value) {
    if let Some(children) = schema.as_object_mut() {
        children.values_mut().for_each(simplify);
    }
    if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(simplify);
    }
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = fields.get("type")
        && let Some(only) = types.iter().find(|name| *name != "null")
        && types.len() == 2
    {
        fields.insert("type".to_owned(), only.clone());
    }
    if let Some(Value::Array(names)) = fields.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    let branches = fields.get("anyOf").and_then(Value::as_array);
    if let Some([branch, null]) = branches.map(Vec::as_slice)
        && null["type"] == "null"
        && let Value::Object(branch) = branch.clone()
    {
        fields.shift_remove("anyOf");
        for (key, value) in branch {
            fields.entry(key).or_insert(value);
        }
    }
    let constants = fields.get("oneOf").and_then(Value::as_array).and_then(|branches| {
        branches.iter().map(|branch| branch.get("const").cloned()).collect::<Option<Vec<_>>>()
    });
    if let Some(constants) = constants {
        fields.shift_remove("oneOf");
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(constants));
    }
}

fn type_violation(kind: &TypeKind, rule: &Value, found: &Value) -> String {
    let expected = match (rule["expected"].as_str().or(rule["unit"].as_str()), kind) {
        (Some(expected), _) => expected,
        (None, TypeKind::Multiple(_)) => "a text, a number or true or false",
        (None, TypeKind::Single(JsonType::Integer)) if found.is_number() => {
            return format!("expected a whole number, found {found}");
        }
        (None, TypeKind::Single(_)) => expected_type(rule),
    };
    match found.as_str() {
        // A longer text may be a key in the wrong place.
        Some(text) if text.chars().count() <= MAX_QUOTED => {
            format!("expected {expected}, found the text `{text}`")
        }
        _ => format!("expected {expected}, found {}", kind_of(found)),
    }
}

/// The digits of a bound. The JSON text of a fraction may have an exponent.
fn number_text(number: &Value) -> String {
    match number.as_f64() {
        Some(whole) if number.is_f64() && whole >= 1.0 && whole.fract() == 0.0 => {
            group_thousands(whole as u64)
        }
        Some(fraction) if number.is_f64() => fraction.to_string(),
        _ => number.to_string(),
    }
}

fn unknown_name(found: &Value, names: &[&str]) -> String {
    let Some(name) = found.as_str() else {
        return format!("expected a text, found {}", kind_of(found));
    };
    let near = nearest(name, names.iter().copied());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("expected one of {}, found `{name}`{near}", names.join(", "))
}

/// The expectation of a missing field.
fn expected(rule: &Value) -> String {
    match rule["expected"].as_str() {
        Some(expected) => expected.to_owned(),
        None if union_of(rule).is_some() => "an object with a kind".to_owned(),
        None if rule["enum"].is_array() => format!("one of {}", names_of(rule).join(", ")),
        None => expected_type(rule).to_owned(),
    }
}

fn names_of(rule: &Value) -> Vec<&str> {
    rule["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn expected_type(rule: &Value) -> &'static str {
    match rule["type"].as_str() {
        Some("string") => "a text",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("array") => "a list of texts",
        _ => "an object",
    }
}

/// The part of the schema with the violated keyword.
fn rule_of<'s>(error: &ValidationError<'_>, schema: &'s Value) -> &'s Value {
    let keyword = error.schema_path().as_str();
    let rule = keyword.rsplit_once('/').map_or("", |(rule, _)| rule);
    schema.pointer(rule).unwrap_or(&Value::Null)
}

/// `schedule.expr`, `payload.tools[2]`.
fn path_of(error: &ValidationError<'_>) -> String {
    let mut path = String::new();
    for part in error.instance_path().as_str().split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        path = match part.parse::<usize>() {
            Ok(index) => format!("{path}[{index}]"),
            Err(_) => join(&path, &part),
        };
    }
    path
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn whole(path: String) -> String {
    if path.is_empty() { "(whole input)".to_owned() } else { path }
}
