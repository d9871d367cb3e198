//! The settings that a bundle asks for (`user_config`), and their values.
//!
//! Owns the check of a value: its type, its bounds, and the handle of a secret. Never holds the value of a secret; a
//! sensitive setting takes only a handle (`{{secret:NAME}}`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::redaction::handles;
use crate::text::escape_line;

/// A setting of a bundle.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct BundleSetting {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    sensitive: bool,
    #[serde(default)]
    multiple: bool,
    default: Option<Value>,
    min: Option<f64>,
    max: Option<f64>,
}

/// Why the values of the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleSettingError {
    /// The bundle has no such setting.
    #[error("The bundle has no setting {key}. {known}")]
    Unknown {
        /// The setting, escaped.
        key: String,
        /// The known settings, as a sentence.
        known: String,
    },
    /// A required setting has no value.
    #[error("The bundle needs the setting {key}{description}. Write --config {key}={form}")]
    Missing {
        /// The setting.
        key: String,
        /// What the bundle says about the setting, escaped.
        description: String,
        /// The form of the value.
        form: &'static str,
    },
    /// The value is not of the setting's type.
    #[error("--config {key}: expected {expected}.")]
    Invalid {
        /// The setting.
        key: String,
        /// The expected value.
        expected: String,
    },
    /// A secret is written as it is.
    #[error(
        "--config {key}: the value is a secret. Store it with `rouse secrets set NAME`, then write --config {key}={{{{secret:NAME}}}}"
    )]
    PlainSecret {
        /// The setting.
        key: String,
    },
}

/// The values of all settings of a bundle.
#[derive(Debug, Default)]
pub(super) struct SettingValues {
    values: BTreeMap<String, Vec<String>>,
    secrets: Vec<String>,
}

impl SettingValues {
    /// The `given` values with the defaults of the bundle. `expand` fills the places of a default in.
    pub(super) fn new(
        settings: &BTreeMap<String, BundleSetting>,
        given: &BTreeMap<String, Vec<String>>,
        expand: impl Fn(&str) -> String,
    ) -> Result<Self, BundleSettingError> {
        if let Some(key) = given.keys().find(|key| !settings.contains_key(*key)) {
            let names: Vec<String> = settings.keys().map(|key| escape_line(key)).collect();
            let known = match names.len() {
                0 => "It has no settings.".to_owned(),
                _ => format!("Its settings: {}.", names.join(", ")),
            };
            return Err(BundleSettingError::Unknown { key: escape_line(key), known });
        }
        let mut values = Self::default();
        for (key, setting) in settings {
            let own = match given.get(key) {
                Some(given) => {
                    setting.check(key, given)?;
                    given.clone()
                }
                None => setting.default_values(key, &expand)?,
            };
            if setting.sensitive {
                values.secrets.push(key.clone());
            }
            values.values.insert(key.clone(), own);
        }
        Ok(values)
    }

    /// The values of a setting; none for an unknown setting.
    pub(super) fn get(&self, key: &str) -> Option<&[String]> {
        self.values.get(key).map(Vec::as_slice)
    }

    /// Whether a setting has a secret.
    pub(super) fn is_secret(&self, key: &str) -> bool {
        self.secrets.iter().any(|secret| secret == key)
            && self.get(key).is_some_and(|values| !values.is_empty())
    }
}

impl BundleSetting {
    /// Whether the setting names files or folders of the person.
    pub(super) fn is_path(&self) -> bool {
        matches!(self.kind.as_str(), "directory" | "file")
    }

    fn check(&self, key: &str, values: &[String]) -> Result<(), BundleSettingError> {
        let invalid = |expected: String| {
            let key = escape_line(key);
            Err(BundleSettingError::Invalid { key, expected })
        };
        if values.len() > 1 && !self.multiple {
            return invalid("one value".to_owned());
        }
        for value in values {
            if self.sensitive && !is_handle(value) {
                return Err(BundleSettingError::PlainSecret { key: escape_line(key) });
            }
            let is_valid = match self.kind.as_str() {
                "number" => value.parse::<f64>().is_ok_and(|number| self.is_in_bounds(number)),
                "boolean" => value == "true" || value == "false",
                _ => true,
            };
            if !is_valid {
                return invalid(self.expected());
            }
        }
        Ok(())
    }

    fn is_in_bounds(&self, number: f64) -> bool {
        number.is_finite()
            && self.min.is_none_or(|min| number >= min)
            && self.max.is_none_or(|max| number <= max)
    }

    /// The expected value of a setting with a type.
    fn expected(&self) -> String {
        if self.kind != "number" {
            return "true or false".to_owned();
        }
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("a number between {min} and {max}"),
            (Some(min), None) => format!("a number of at least {min}"),
            (None, Some(max)) => format!("a number of at most {max}"),
            (None, None) => "a number".to_owned(),
        }
    }

    /// The values without a value of the person. A default of a secret is never used.
    fn default_values(
        &self,
        key: &str,
        expand: &impl Fn(&str) -> String,
    ) -> Result<Vec<String>, BundleSettingError> {
        let text = |value: &Value| match value {
            Value::String(text) => expand(text),
            other => other.to_string(),
        };
        match self.default.as_ref().filter(|_| !self.sensitive) {
            Some(Value::Array(values)) => Ok(values.iter().map(text).collect()),
            Some(Value::Null) | None if self.required => {
                let description = match self.description.trim() {
                    "" => String::new(),
                    text => format!(" ({})", escape_line(text)),
                };
                let form = if self.sensitive { "{{secret:NAME}}" } else { "VALUE" };
                Err(BundleSettingError::Missing { key: escape_line(key), description, form })
            }
            Some(Value::Null) | None => Ok(Vec::new()),
            Some(value) => Ok(vec![text(value)]),
        }
    }
}

/// Whether a value is exactly the handle of a secret.
fn is_handle(value: &str) -> bool {
    handles(value).next().is_some_and(|handle| handle.at == (0..value.len()))
}
