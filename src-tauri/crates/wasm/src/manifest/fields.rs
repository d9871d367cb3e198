//! Fields of a table with their problems.
//!
//! Owns the path of each field and the list of all problems. Never stops at the first problem. Pitfall: a value that
//! TOML knows and JSON does not, as a date.

use rouse_core::text::suggest;
use serde_json::{Map, Value};
use toml::Table;

use super::problem::ManifestProblem;

/// All problems of a manifest.
#[derive(Default)]
pub(super) struct Problems(pub(super) Vec<ManifestProblem>);

impl Problems {
    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(ManifestProblem { field: field.into(), message: message.into() });
    }
}

/// A table at a path.
pub(super) struct Fields<'t> {
    table: &'t Table,
    path: String,
}

impl<'t> Fields<'t> {
    /// The table at `path`, whose keys are `known`. Each other key is a problem.
    pub(super) fn new(
        table: &'t Table,
        path: String,
        known: &[&str],
        problems: &mut Problems,
    ) -> Self {
        let fields = Self { table, path };
        for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = format!("unknown key `{key}`{}", suggest(key, known));
            problems.add(fields.path_of(key), message);
        }
        fields
    }

    /// The path of the field `key`.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t toml::Value> {
        self.table.get(key)
    }

    /// The text of `key`; none without the key or with a problem.
    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<&'t str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            problems.add(self.path_of(key), "must be a text in quotes");
        }
        value.as_str()
    }

    /// The text of `key`; a missing key is a problem.
    pub(super) fn required_text(&self, key: &str, problems: &mut Problems) -> Option<&'t str> {
        if self.get(key).is_none() {
            problems.add(self.path_of(key), "is missing");
        }
        self.text(key, problems)
    }

    /// The value of `key`, `false` without one.
    pub(super) fn flag(&self, key: &str, problems: &mut Problems) -> bool {
        let Some(value) = self.get(key) else { return false };
        value.as_bool().unwrap_or_else(|| {
            problems.add(self.path_of(key), "must be true or false");
            false
        })
    }

    /// The table of `key`; none without the key or with a problem.
    pub(super) fn table(&self, key: &str, problems: &mut Problems) -> Option<&'t Table> {
        let value = self.get(key)?;
        if value.as_table().is_none() {
            problems.add(self.path_of(key), "must be a table");
        }
        value.as_table()
    }

    /// The entries of the list `key` with their paths; at most `limit`.
    pub(super) fn list(
        &self,
        key: &str,
        limit: usize,
        problems: &mut Problems,
    ) -> Vec<(String, &'t toml::Value)> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let path = self.path_of(key);
        let Some(entries) = value.as_array() else {
            problems.add(path, "must be a list");
            return Vec::new();
        };
        if entries.len() > limit {
            problems.add(&path, format!("has {} entries; the limit is {limit}", entries.len()));
        }
        let numbered = entries.iter().take(limit).enumerate();
        numbered.map(|(at, entry)| (format!("{path}[{at}]"), entry)).collect()
    }

    /// The value of `key` as JSON.
    pub(super) fn json(&self, key: &str, problems: &mut Problems) -> Option<Value> {
        self.get(key).map(|value| json_of(value, &self.path_of(key), problems))
    }
}

/// `value` as JSON. What JSON lacks is a problem, and null.
pub(super) fn json_of(value: &toml::Value, path: &str, problems: &mut Problems) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Float(number) if number.is_finite() => (*number).into(),
        toml::Value::Float(_) | toml::Value::Datetime(_) => {
            problems.add(path, "JSON has no such value; write it as a text in quotes");
            Value::Null
        }
        toml::Value::Array(entries) => entries
            .iter()
            .enumerate()
            .map(|(at, entry)| json_of(entry, &format!("{path}[{at}]"), problems))
            .collect(),
        toml::Value::Table(table) => {
            let fields = table.iter().map(|(key, entry)| {
                (key.clone(), json_of(entry, &format!("{path}.{key}"), problems))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
